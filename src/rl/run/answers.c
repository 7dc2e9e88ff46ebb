#include "rl/run/answers.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gym/report/metrics.h"
#include "gym/report/plot.h"
#include "rl/run/lengths.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_BYTES ((size_t)16 << 20) /* where the last step is looked for */

/* -------------------------------------------------------------------------------------- reading */

static json_int_t whole_at(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static bool has_problem(const json_t *chosen, const char *problem)
{
    const json_t *trace;
    size_t i;
    json_array_foreach((json_t *)chosen, i, trace)
    {
        if (strcmp(json_text_at(trace, "problem"), problem) == 0)
            return true;
    }
    return false;
}

/* Of the step that `chosen` has, or of a later one, which begins anew where `last`. False: no line
 * behind it is wanted. */
static bool choose(json_t *chosen, json_t *trace, bool last)
{
    const json_t *before = json_array_get(chosen, 0);
    if (before && whole_at(trace, "step") != whole_at(before, "step")) {
        if (!last)
            return false;
        json_array_clear(chosen);
    }
    if (whole_at(trace, "turn") == 0 && json_array_size(chosen) < RUN_ANSWERS_MOST &&
        !has_problem(chosen, json_text_at(trace, "problem")))
        json_array_append(chosen, trace);
    return true;
}

static int read_step(int fd, const char *path, bool last, json_t *chosen, struct err *err)
{
    struct lines *lines = lines_open_fd(fd, path, LIMIT_JOURNAL_LINE_BYTES);
    const char *text;
    size_t count;
    bool more = true;
    int result = 0;
    while (more && (result = lines_next(lines, &text, &count, err)) > 0 && lines_is_whole(lines)) {
        json_t *trace = NULL;
        result = json_parse(path, text, count, &trace, err);
        if (result < 0)
            break;
        more = choose(chosen, trace, last);
        json_decref(trace);
    }
    lines_close(lines);
    return result < 0 ? result : 0;
}

static int read_part(const char *path, bool last, json_t *chosen, struct err *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s: cannot read", path);
    if (last && (fstat(fd, &status) < 0 ||
                 lseek(fd, run_tail(fd, status.st_size, TAIL_BYTES), SEEK_SET) < 0)) {
        close(fd);
        return err_sys(err, errno, "%s: cannot read", path);
    }
    return read_step(fd, path, last, chosen, err);
}

int run_answers_read(const char *directory, json_t **out, struct err *err)
{
    char *path = mem_printf("%s/" RUN_TRACES, directory);
    json_t *first = json_array(), *last = json_array();
    int result = read_part(path, false, first, err);
    if (result == 0)
        result = read_part(path, true, last, err);
    if (result == 0 &&
        whole_at(json_array_get(first, 0), "step") != whole_at(json_array_get(last, 0), "step"))
        json_array_extend(first, last);
    json_decref(last);
    mem_free(path);
    if (result < 0)
        json_decref(first);
    else
        *out = first;
    return result;
}

/* ------------------------------------------------------------------------------------- the page */

static void put_text(struct buf *out, const char *title, const char *text)
{
    size_t length = strlen(text), shown = utf8_cut(text, length, LIMIT_REPORT_TEXT_BYTES);
    if (length == 0)
        return;
    char *part = mem_printf("%.*s", (int)shown, text);
    buf_printf(out, "<details class=\"text\"><summary>%s</summary><pre class=\"wrap\">", title);
    html_text(out, part);
    buf_puts(out, shown < length ? "\n…</pre></details>" : "</pre></details>");
    mem_free(part);
}

static void put_head(const json_t *trace, struct buf *out)
{
    const json_t *reward = json_object_get(trace, "reward");
    const char *status = gym_status_name(gym_status_of(json_text_at(trace, "status")));
    double speedup = json_number_value(json_object_get(trace, "speedup"));
    buf_printf(out, "<h4>step %" JSON_INTEGER_FORMAT ", ", whole_at(trace, "step"));
    html_text(out, json_text_at(trace, "problem"));
    buf_printf(out,
               " <span>sample %" JSON_INTEGER_FORMAT ", weights %" JSON_INTEGER_FORMAT
               "</span></h4><p><span class=\"chip st-%s\"><i></i>",
               whole_at(trace, "sample"), whole_at(trace, "policy_version"), status);
    for (const char *at = status; *at; at++)
        buf_printf(out, "%c", *at == '_' ? ' ' : *at);
    buf_puts(out, "</span> ");
    if (speedup > 0)
        buf_printf(out, "<b>%.2f×</b> ", speedup);
    if (json_is_number(reward))
        buf_printf(out, "<small>reward %.4g, advantage %.4g</small>", json_number_value(reward),
                   json_number_value(json_object_get(trace, "advantage")));
    else
        buf_puts(out, "<small>says nothing of the candidate</small>");
    buf_puts(out, "</p>");
}

void run_answers_put(const json_t *traces, struct buf *out)
{
    const json_t *trace;
    size_t i;
    json_array_foreach((json_t *)traces, i, trace)
    {
        const json_t *messages = json_object_get(trace, "prompt");
        const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
        const json_t *error = json_object_get(json_object_get(trace, "verdict"), "error");
        buf_puts(out, "<div class=\"episode\">");
        put_head(trace, out);
        put_text(out, "Prompt", json_text_at(last, "content"));
        put_text(out, "Answer", json_text_at(trace, "answer"));
        put_text(out, "What the judge said", json_text_at(error, "message"));
        buf_puts(out, "</div>\n");
    }
}
