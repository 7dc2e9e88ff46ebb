#include "rl/run/checkpoints.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rl/run/run.h"

#include <string.h>

bool run_checkpoint_is_elsewhere(const char *where)
{
    return strstr(where, "://") != NULL;
}

static bool is_there(const char *directory, const char *where)
{
    if (run_checkpoint_is_elsewhere(where))
        return true;
    char *path = file_from(directory, where);
    bool found = file_exists(path) || file_is_directory(path);
    mem_free(path);
    return found;
}

static int check(const json_t *line, const char **name, const char **where, struct err *err)
{
    int64_t step;
    json_t *lengths;
    int result = json_get_string(line, "name", name, err);
    if (result == 0)
        result = json_get_string(line, "where", where, err);
    if (result == 0)
        result = json_get_int(line, "step", &step, err);
    if (result == 0)
        result = json_find_object(line, "lengths", &lengths, err);
    if (result == 0 && (step < 0 || strlen(*name) >= RUN_NAME_BYTES ||
                        strlen(*where) >= RUN_WHERE_BYTES || !json_object_get(line, "lengths")))
        result = err_set(err, ERR_INPUT, "no checkpoint");
    return result;
}

static void forget(json_t *all, const char *name)
{
    for (size_t i = json_array_size(all); i-- > 0;)
        if (strcmp(json_text_at(json_array_get(all, i), "name"), name) == 0)
            json_array_remove(all, i);
}

static int take(const char *directory, const char *path, size_t number, const char *text,
                size_t count, json_t *all, bool *kept, struct err *err)
{
    json_t *line = NULL;
    const char *name, *where;
    int result = json_parse_line(path, number, text, count, &line, err);
    if (result < 0)
        return result;
    result = check(line, &name, &where, err);
    if (result < 0)
        err_prefix(err, "%s:%zu", path, number);
    bool removed = json_is_true(json_object_get(line, "removed"));
    bool there = result == 0 && !removed && is_there(directory, where);
    *kept = there || removed;
    if (result == 0)
        forget(all, name);
    if (there)
        json_array_append(all, line);
    json_decref(line);
    return result;
}

int run_checkpoints_read(const char *directory, json_t **out, off_t *end, struct err *err)
{
    char *path = mem_printf("%s/" RUN_CHECKPOINTS, directory);
    char *text = NULL;
    size_t count = 0, done = 0, number = 0;
    json_t *all = json_array();
    bool kept = false;
    int result = 0;
    *end = 0;
    if (file_exists(path))
        result = file_read(path, LIMIT_RUN_CHECKPOINTS_BYTES, &text, &count, err);
    while (result == 0 && done < count) {
        const char *line = text + done, *stop = memchr(line, '\n', count - done);
        if (!stop)
            break;
        result = take(directory, path, ++number, line, (size_t)(stop - line), all, &kept, err);
        done = (size_t)(stop - text) + 1;
        *end = kept ? (off_t)done : *end;
    }
    mem_free(text);
    mem_free(path);
    if (result < 0)
        json_decref(all);
    else
        *out = all;
    return result;
}

int run_checkpoints(const char *directory, json_t **out, struct err *err)
{
    off_t end;
    return run_checkpoints_read(directory, out, &end, err);
}
