/* verdict: the schema of verdicts, and whether files hold them. */
#include "base/limits.h"
#include "base/lines.h"
#include "cli/cli.h"
#include "judge/verdict_schema.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_schema(struct buf *out)
{
    json_t *schema = verdict_schema();
    char *text = json_dumps(schema, JSON_INDENT(2));
    buf_printf(out, "%s\n", text);
    free(text);
    json_decref(schema);
}

static int check_line(const struct lines *lines, const char *text, size_t count, struct err *err)
{
    struct verdict verdict;
    json_t *json;
    int result = json_parse_line(lines_path(lines), lines_number(lines), text, count, &json, err);
    if (result < 0)
        return result;
    result = verdict_read(json, &verdict, err);
    if (result < 0)
        err_prefix(err, "%s:%zu", lines_path(lines), lines_number(lines));
    verdict_deinit(&verdict);
    json_decref(json);
    return result;
}

/* Adds to `checked` and `wrong`. An error is one of reading the file. */
static int check_file(const char *path, size_t *checked, size_t *wrong, struct err *err)
{
    struct lines *lines;
    const char *text;
    size_t count;
    int result = 0;
    if (strcmp(path, "-") == 0)
        lines = lines_open_fd(dup(STDIN_FILENO), "standard input", LIMIT_QUEUE_BODY_BYTES);
    else
        result = lines_open(&lines, path, LIMIT_QUEUE_BODY_BYTES, err);
    if (result < 0)
        return result;
    while ((result = lines_next(lines, &text, &count, err)) > 0) {
        struct err why;
        ++*checked;
        if (check_line(lines, text, count, &why) == 0)
            continue;
        ++*wrong;
        cli_fail(EXIT_SOME_FAILED, "%s", why.text);
    }
    lines_close(lines);
    return result;
}

static int verdict_run(struct cli_call *call, void *arguments, struct err *err)
{
    const bool *schema = arguments;
    size_t checked = 0, wrong = 0;
    int result = 0;
    if (*schema) {
        put_schema(&call->out);
        return EXIT_PASSED;
    }
    if (call->words.count == 0)
        return cli_fail(EXIT_USAGE, "name a file of verdicts, or - for standard input");
    for (size_t i = 0; i < call->words.count && result == 0; i++)
        result = check_file(call->words.items[i], &checked, &wrong, err);
    if (result < 0)
        return cli_fail(EXIT_USAGE, "%s", err->text);
    buf_printf(&call->out, "%zu of %zu lines are verdicts\n", checked - wrong, checked);
    return wrong > 0 ? EXIT_SOME_FAILED : EXIT_PASSED;
}

int verdict_main(struct cli_call *call)
{
    bool schema = false;
    const struct cli_option options[] = {
        OPTION_FLAG(0, "schema", &schema,
                    "print the JSON schema (docs/schemas/verdict.schema.json)"),
        OPTION_END,
    };
    return cli_run(call, options, verdict_run, &schema);
}
