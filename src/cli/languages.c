/* languages: what candidates may be written in. */
#include "cli/cli.h"
#include "judge/request/external_language.h"
#include "judge/request/judge_settings.h"

#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 256

/* ".c, .cpp"; with `mark` around each. */
static const char *join_words(const char *const *words, const char *mark, char text[TEXT_BYTES])
{
    struct buf out;
    buf_init(&out, TEXT_BYTES);
    for (; *words; words++)
        buf_printf(&out, "%s%s%s%s", out.len ? ", " : "", mark, *words, mark);
    snprintf(text, TEXT_BYTES, "%s", out.data);
    buf_deinit(&out);
    return text;
}

static const char *format_of(const struct language *row)
{
    return row->format == PROBLEM_NATIVE ? "native" : "torch";
}

static struct table *languages_table(const struct languages *more)
{
    char endings[TEXT_BYTES];
    struct table *table = table_new("language||problems|files|");
    const struct language *row;
    for (size_t i = 0; (row = language_any(more, i)); i++) {
        table_cell(table, STYLE_STRONG, "%s", row->name);
        table_cell(table, STYLE_NONE, "%s", row->title);
        table_cell(table, STYLE_NONE, "%s", format_of(row));
        table_cell(table, STYLE_NONE, "%s", join_words(row->endings, "", endings));
        table_cell(table, STYLE_FAINT, "%s",
                   row->external ? row->external->run[0]
                   : row->gpu    ? "needs a GPU"
                                 : "");
    }
    return table;
}

/* Labels as the row has them, between blanks, without `but`. */
static void put_labels(struct buf *out, const char *labels, const char *but)
{
    const char *before = "";
    for (const char *at = labels + strspn(labels, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (strlen(but) != length || memcmp(at, but, length) != 0) {
            buf_printf(out, "%s%.*s", before, (int)length, at);
            before = ", ";
        }
        at += length;
    }
}

static void show_markdown(struct buf *out)
{
    char endings[TEXT_BYTES];
    const struct language *row;
    buf_puts(out, "| Language | Title | Problems | Files | Label of a block | Other labels of its "
                  "own | Related labels |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; (row = language_at(i)); i++) {
        buf_printf(out, "| `%s` | %s | %s%s | %s | `%s` | ", row->name, row->title, format_of(row),
                   row->standard ? ", unless another is named" : "",
                   join_words(row->endings, "`", endings), row->fence);
        put_labels(out, row->labels, row->fence);
        buf_puts(out, " | ");
        put_labels(out, row->near, "");
        buf_puts(out, " |\n");
    }
}

static int languages_run(struct cli_call *call, void *arguments, struct err *err)
{
    const bool *markdown = arguments;
    struct languages more = {0};
    struct arena arena = {0};
    int result = external_load(&more, &arena, languages_settings(&call->settings)->path, err);
    if (result == 0 && *markdown)
        show_markdown(&call->out);
    else if (result == 0)
        cli_put_table(call, languages_table(&more));
    arena_deinit(&arena);
    return result;
}

int languages_main(struct cli_call *call)
{
    bool markdown = false;
    const struct cli_option options[] = {
        OPTION_FLAG(0, "markdown", &markdown,
                    "the built-in ones as Markdown (docs/reference/languages.md)"),
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, languages_run, &markdown);
}
