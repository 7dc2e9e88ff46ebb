/* runs logs: prints train.log for people. */
#include "cli/runs/runs.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLLOW_US 200000
#define READ_BYTES ((size_t)1 << 16)

struct arguments {
    bool follow, json;
    int64_t wanted;
};

struct reading {
    const char *path;
    bool json;
    struct buf line; /* the partial line */
    size_t skip;     /* lines to skip */
    size_t number;
};

/* "2026-01-31T12:00:00.000Z resumed checkpoint=step-8 step=8" */
static void print_words(struct buf *out, const json_t *object)
{
    const char *key;
    json_t *value;
    buf_printf(out, "%s %s", json_text_at(object, "time"), json_text_at(object, "event"));
    json_object_foreach((json_t *)object, key, value)
    {
        if (strcmp(key, "time") == 0 || strcmp(key, "event") == 0)
            continue;
        char *text = json_is_string(value) ? NULL
                                           : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
                                                                   JSON_REAL_PRECISION(6));
        buf_printf(out, " %s=%s", key, text ? text : json_string_value(value));
        free(text);
    }
}

static int print_line(struct reading *reading, struct err *err)
{
    json_t *object = NULL;
    struct buf out;
    if (++reading->number <= reading->skip)
        return 0;
    int result = json_parse_line(reading->path, reading->number, reading->line.data,
                                 reading->line.len, &object, err);
    if (result < 0)
        return result;
    buf_init(&out, LIMIT_JOURNAL_LINE_BYTES);
    if (reading->json) {
        buf_append(&out, reading->line.data, reading->line.len);
    } else {
        print_words(&out, object);
        printable_text(out.data, false);
        out.len = strlen(out.data);
    }
    buf_puts(&out, "\n");
    cli_print(&out);
    buf_deinit(&out);
    json_decref(object);
    return 0;
}

static int read_bytes(struct reading *reading, const char *bytes, size_t count, struct err *err)
{
    int result = 0;
    while (count > 0 && result == 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t part = end ? (size_t)(end - bytes) : count;
        buf_append(&reading->line, bytes, part);
        if (!end)
            return 0;
        result = print_line(reading, err);
        buf_reset(&reading->line);
        bytes = end + 1;
        count -= part + 1;
    }
    return result;
}

static int read_on(struct reading *reading, int fd, bool follow, struct err *err)
{
    char *bytes = mem_alloc(READ_BYTES);
    int result = 0;
    while (result == 0 && !cli_cancelled) {
        ssize_t got = read(fd, bytes, READ_BYTES);
        if (got < 0 && errno != EINTR)
            result = err_sys(err, errno, "cannot read %s", reading->path);
        else if (got > 0)
            result = read_bytes(reading, bytes, (size_t)got, err);
        else if (got == 0 && !follow)
            break;
        else if (got == 0)
            usleep(FOLLOW_US);
    }
    mem_free(bytes);
    return result;
}

/* Counts the lines before the last `wanted`. */
static int lines_before(const char *path, size_t wanted, size_t *before, struct err *err)
{
    char *text;
    size_t count, lines = 0;
    int result = file_read(path, LIMIT_LM_METRICS_BYTES, &text, &count, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++)
        lines += text[i] == '\n';
    mem_free(text);
    *before = lines > wanted ? lines - wanted : 0;
    return 0;
}

static int print_log(struct cli_call *call, struct run_view *view, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    char *path = mem_printf("%s/train.log", view->path);
    struct reading reading = {.path = path, .json = arguments->json};
    int result = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
    buf_init(&reading.line, LIMIT_JOURNAL_LINE_BYTES);
    if (fd < 0 && view->kind == RUN_SFT)
        result = err_set(err, ERR_INPUT,
                         "%s: `warpgym lm train` keeps no log; see its metrics.jsonl", view->path);
    else if (fd < 0)
        result = err_sys(err, errno, "cannot read %s", path);
    if (result == 0 && arguments->wanted > 0)
        result = lines_before(path, (size_t)arguments->wanted, &reading.skip, err);
    if (result == 0)
        result = read_on(&reading, fd, arguments->follow, err);
    if (fd >= 0)
        close(fd);
    buf_deinit(&reading.line);
    mem_free(path);
    return result;
}

static int runs_logs_run(struct cli_call *call, void *arguments, struct err *err)
{
    cli_catch_signals();
    return runs_do(call, 0, print_log, arguments, err);
}

int runs_logs_main(struct cli_call *call)
{
    struct arguments arguments = {0};
    const struct cli_option options[] = {
        OPTION_FLAG('f', "follow", &arguments.follow, "print new lines until Ctrl-C"),
        OPTION_INT('n', "lines", &arguments.wanted, 1, 1000000000, "N", "only the last N; all"),
        OPTION_FLAG(0, "json", &arguments.json, "the lines unchanged"),
        OPTION_END,
    };
    return cli_run(call, options, runs_logs_run, &arguments);
}
