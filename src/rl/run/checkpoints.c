#include "rl/run/checkpoints.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rl/run/run.h"
#include "rl/run/tensorboard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool run_checkpoint_is_elsewhere(const char *where)
{
    return strstr(where, "://") != NULL;
}

static bool checkpoint_exists(const char *directory, const char *where)
{
    if (run_checkpoint_is_elsewhere(where))
        return true;
    char *path = file_from(directory, where);
    bool found = file_exists(path) || file_is_directory(path);
    mem_free(path);
    return found;
}

static int check_line(const json_t *line, const char **name, const char **where, struct err *err)
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
        result = err_set(err, ERR_INPUT, "not a checkpoint");
    return result;
}

static void drop_name(json_t *all, const char *name)
{
    for (size_t i = json_array_size(all); i-- > 0;)
        if (strcmp(json_text_at(json_array_get(all, i), "name"), name) == 0)
            json_array_remove(all, i);
}

static int read_checkpoint_line(const char *directory, const char *path, size_t number,
                                const char *text, size_t count, json_t *all, bool *kept,
                                struct err *err)
{
    json_t *line = NULL;
    const char *name, *where;
    int result = json_parse_line(path, number, text, count, &line, err);
    if (result < 0)
        return result;
    result = check_line(line, &name, &where, err);
    if (result < 0)
        err_prefix(err, "%s:%zu", path, number);
    bool removed = json_is_true(json_object_get(line, "removed"));
    bool there = result == 0 && !removed && checkpoint_exists(directory, where);
    *kept = there || removed;
    if (result == 0)
        drop_name(all, name);
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
        result = read_checkpoint_line(directory, path, ++number, line, (size_t)(stop - line), all,
                                      &kept, err);
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

static const char *const line_files[] = {RUN_METRICS, RUN_TRACES};
#define LINE_FILES COUNT(line_files)

/* `path` is "tensorboard/…" within the run. */
typedef int (*event_file_visitor)(void *context, const char *directory, const char *path,
                                  struct err *err);

/* Visits two levels: tensorboard/ and the group members below it. */
static int walk_event_files(const char *directory, const char *below, bool deeper,
                            event_file_visitor each, void *context, struct err *err)
{
    char *path = mem_printf("%s/%s", directory, below);
    DIR *entries = opendir(path);
    int result = entries || errno == ENOENT || errno == ENOTDIR
                     ? 0
                     : err_sys(err, errno, "cannot read %s", path);
    mem_free(path);
    for (struct dirent *entry; result == 0 && entries && (entry = readdir(entries));) {
        char *name = mem_printf("%s/%s", below, entry->d_name);
        if (strncmp(entry->d_name, EVENT_FILE_PREFIX, sizeof EVENT_FILE_PREFIX - 1) == 0)
            result = each(context, directory, name, err);
        else if (deeper && entry->d_name[0] != '.')
            result = walk_event_files(directory, name, false, each, context, err);
        mem_free(name);
    }
    if (entries)
        closedir(entries);
    return result;
}

static int measure_file(void *lengths, const char *directory, const char *name, struct err *err)
{
    char *path = mem_printf("%s/%s", directory, name);
    struct stat status = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int result = 0;
    if (fd < 0 ? errno != ENOENT : fstat(fd, &status) < 0 || fdatasync(fd) < 0)
        result = err_sys(err, errno, "cannot sync %s", path);
    if (result == 0)
        json_put(lengths, name, json_integer(status.st_size));
    if (fd >= 0)
        close(fd);
    mem_free(path);
    return result;
}

int run_lengths_measure(const char *directory, json_t **out, struct err *err)
{
    json_t *lengths = json_object();
    int result = 0;
    for (size_t i = 0; i < LINE_FILES && result == 0; i++)
        result = measure_file(lengths, directory, line_files[i], err);
    if (result == 0)
        result = walk_event_files(directory, TENSORBOARD_DIRECTORY, true, measure_file, lengths,
                                  err);
    if (result < 0)
        json_decref(lengths);
    else
        *out = lengths;
    return result;
}

static json_int_t length_of(const json_t *lengths, const char *name)
{
    return json_integer_value(json_object_get(lengths, name));
}

static bool ends_a_line(int fd, json_int_t length)
{
    char last;
    return length == 0 || (pread(fd, &last, 1, (off_t)length - 1) == 1 && last == '\n');
}

/* Truncates a file of lines, or only checks that this is possible. */
static int cut_lines(const char *directory, const char *name, json_int_t length, bool cut,
                     struct err *err)
{
    char *path = mem_printf("%s/%s", directory, name);
    struct stat status = {0};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    int result = 0;
    if (fd < 0 && (errno != ENOENT || length > 0))
        result = err_sys(err, errno, "cannot open %s, which the checkpoint needs", path);
    else if (fd >= 0 && fstat(fd, &status) < 0)
        result = err_sys(err, errno, "%s", path);
    else if (fd >= 0 && (status.st_size < length || !ends_a_line(fd, length)))
        result = err_set(err, ERR_INPUT,
                         "%s: the last checkpoint has %lld bytes of complete lines of it, and the "
                         "file differs; restore it, or name another directory",
                         path, (long long)length);
    else if (fd >= 0 && cut && ftruncate(fd, (off_t)length) < 0)
        result = err_sys(err, errno, "cannot truncate %s to the checkpoint", path);
    if (fd >= 0)
        close(fd);
    mem_free(path);
    return result;
}

static int cut_events(void *lengths, const char *directory, const char *name, struct err *err)
{
    char *path = mem_printf("%s/%s", directory, name);
    const json_t *length = json_object_get(lengths, name);
    struct stat status;
    int result = 0;
    if (!length && unlink(path) < 0)
        result = err_sys(err, errno, "cannot remove %s", path);
    else if (length && stat(path, &status) == 0 && status.st_size > json_integer_value(length) &&
             truncate(path, (off_t)json_integer_value(length)) < 0)
        result = err_sys(err, errno, "cannot truncate %s to the checkpoint", path);
    mem_free(path);
    return result;
}

int run_lengths_cut(const char *directory, const json_t *lengths, struct err *err)
{
    int result = 0;
    for (int cut = 0; cut < 2; cut++)
        for (size_t i = 0; i < LINE_FILES && result == 0; i++)
            result = cut_lines(directory, line_files[i], length_of(lengths, line_files[i]), cut,
                               err);
    if (result == 0)
        result = walk_event_files(directory, TENSORBOARD_DIRECTORY, true, cut_events,
                                  (void *)lengths, err);
    return result;
}
