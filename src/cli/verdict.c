/* verdict: the schema of verdicts, and whether files hold them. */
#include "base/limits.h"
#include "base/lines.h"
#include "cli/cli.h"
#include "judge/verdict_schema.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_schema(void)
{
    json_t *schema = verdict_schema();
    char *text = json_dumps(schema, JSON_INDENT(2));
    struct buf out;
    buf_init(&out, LIMIT_QUEUE_BODY_BYTES);
    buf_printf(&out, "%s\n", text);
    cli_print(&out);
    buf_deinit(&out);
    free(text);
    json_decref(schema);
    return EXIT_PASSED;
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

int verdict_main(int argc, char **argv)
{
    bool schema = false;
    struct cli_words files = {0};
    const struct cli_option options[] = {
        OPTION_FLAG(0, "schema", &schema,
                    "print the JSON schema (docs/schemas/verdict.schema.json)"),
        OPTION_END,
    };
    size_t checked = 0, wrong = 0;
    int status;
    if (!cli_parse(verdict_main, options, argc, argv, &files, &status))
        return status;
    if (schema)
        status = print_schema();
    else if (files.count == 0)
        status = cli_fail(EXIT_USAGE, "name a file of verdicts, or - for standard input");
    for (size_t i = 0; i < files.count && status == EXIT_PASSED; i++) {
        struct err err;
        if (check_file(files.items[i], &checked, &wrong, &err) < 0)
            status = cli_fail(EXIT_USAGE, "%s", err.text);
    }
    if (!schema && status == EXIT_PASSED) {
        struct buf out;
        buf_init(&out, LIMIT_NAME_BYTES);
        buf_printf(&out, "%zu of %zu lines are verdicts\n", checked - wrong, checked);
        cli_print(&out);
        buf_deinit(&out);
        status = wrong > 0 ? EXIT_SOME_FAILED : EXIT_PASSED;
    }
    return cli_end(options, &files, status);
}
