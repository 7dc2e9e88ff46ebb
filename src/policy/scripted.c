/* scripted: answers from a file, the same for every call. */
#include "policy/policy_ops.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "policy/script.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "scripted:";

struct scripted {
    struct script script;
    char *path, *model;
    const _Atomic int *cancelled;
};

/* Opens part by part and follows no links: a path that was checked to stay below the directory
 * cannot leave it. */
static int open_below(int directory, const char *path, struct err *err)
{
    int at = dup(directory);
    for (const char *part = path; at >= 0;) {
        size_t length = strcspn(part, "/");
        bool last = part[length] == '\0';
        char name[NAME_MAX + 1];
        snprintf(name, sizeof name, "%.*s", (int)(length < NAME_MAX ? length : NAME_MAX), part);
        int next = openat(at, name,
                          O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (last ? O_NONBLOCK : O_DIRECTORY));
        int why = errno;
        close(at);
        errno = why;
        at = next;
        if (last)
            break;
        part += length + 1;
    }
    if (at < 0 && errno == ENOENT)
        return err_set(err, ERR_MISSING, "'%.200s' does not exist", path);
    return at < 0 ? err_sys(err, errno, "cannot open '%.200s' (links are not followed)", path) : at;
}

static int read_file(struct script *script, struct script_line *line, int directory, size_t *left,
                     struct err *err)
{
    char *text;
    size_t bytes;
    size_t most = *left < LIMIT_ANSWER_BYTES ? *left : LIMIT_ANSWER_BYTES;
    int fd = open_below(directory, line->file, err);
    if (fd < 0)
        return fd;
    int result = file_read_fd(fd, line->file, most, &text, &bytes, err);
    close(fd);
    if (result < 0)
        return result;
    *left -= bytes;
    char *mended = utf8_mended(text, bytes, &bytes);
    line->text = arena_strndup(&script->arena, mended, bytes);
    mem_free(mended);
    mem_free(text);
    return 0;
}

static int open_directory_of(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? mem_printf("%.*s/", (int)(slash - path), path) : mem_strdup(".");
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        fd = err_sys(err, errno, "cannot open '%.200s'", directory);
    mem_free(directory);
    return fd;
}

static int read_files(struct scripted *scripted, size_t left, struct err *err)
{
    struct script *script = &scripted->script;
    int directory = open_directory_of(scripted->path, err), result = 0;
    if (directory < 0)
        return directory;
    for (size_t i = 0; i < script->count && result == 0; i++) {
        if (!script->lines[i].file)
            continue;
        result = read_file(script, &script->lines[i], directory, &left, err);
        if (result < 0)
            err_prefix(err, "%.200s:%zu", scripted->path, script->lines[i].number);
    }
    close(directory);
    return result;
}

static void scripted_close(void *state)
{
    struct scripted *scripted = state;
    script_deinit(&scripted->script);
    mem_free(scripted->path);
    mem_free(scripted->model);
    mem_free(scripted);
}

static int scripted_open(void **state, const struct policy_options *options, struct err *err)
{
    const char *path = options->url + sizeof prefix - 1;
    char *text;
    size_t bytes;
    if (!*path)
        return err_set(err, ERR_INPUT, "scripted: needs a file; write scripted:FILE");
    int result = file_read(path, LIMIT_SCRIPT_BYTES, &text, &bytes, err);
    if (result < 0)
        return result;
    struct scripted *scripted = mem_alloc(sizeof *scripted);
    scripted->path = mem_strdup(path);
    scripted->model = mem_strdup(options->model ? options->model : "scripted");
    scripted->cancelled = options->cancelled;
    result = script_parse(&scripted->script, path, text, bytes, err);
    mem_free(text);
    if (result == 0)
        result = read_files(scripted, LIMIT_SCRIPT_BYTES - bytes, err);
    if (result < 0) {
        scripted_close(scripted);
        return result;
    }
    *state = scripted;
    return 0;
}

static const char *scripted_model(const void *state)
{
    return ((const struct scripted *)state)->model;
}

static int scripted_models(void *state, json_t **models, struct err *err)
{
    *models = json_array();
    json_array_append_new(*models, json_text(((const struct scripted *)state)->model));
    return 0;
}

static int scripted_complete(void *state, const struct policy_request *request,
                             struct policy_answer *answer, struct err *err)
{
    const struct scripted *scripted = state;
    int64_t begun_ns = clock_now_ns();
    const char *problem = request->problem ? request->problem : "";
    const struct script_line *line = script_find(&scripted->script, problem, request->sample,
                                                 request->turn);
    if (!line)
        return err_set(err, ERR_MISSING,
                       "%.200s has no answer for problem '%.100s', sample %" PRId64
                       ", turn %" PRId64,
                       scripted->path, problem, request->sample, request->turn);
    int result = policy_rest(scripted->cancelled, line->delay_ms, err);
    if (result < 0)
        return result;
    answer->text = mem_strdup(line->text);
    answer->reasoning = line->reasoning ? mem_strdup(line->reasoning) : NULL;
    answer->model = mem_strdup(scripted->model);
    snprintf(answer->finish, sizeof answer->finish, "%s", line->finish);
    answer->prompt_tokens = line->prompt_tokens;
    answer->completion_tokens = line->completion_tokens;
    answer->cached_tokens = line->cached_tokens;
    answer->asked = 1;
    answer->answer_ms = clock_ms_since(begun_ns);
    return 0;
}

const struct policy_ops policy_scripted = {
    .kind = "scripted",
    .prefixes = {prefix, NULL},
    .open = scripted_open,
    .close = scripted_close,
    .model = scripted_model,
    .models = scripted_models,
    .complete = scripted_complete,
};
