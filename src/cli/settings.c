#include "cli/cli.h"

#include <unistd.h>

#define OUT_BYTES ((size_t)1 << 20)

int settings_main(int argc, char **argv)
{
    bool describe = false;
    bool markdown = false;
    struct cli_words sets = {0};
    struct cli_words words = {0};
    const struct cli_option options[] = {
        OPTION_FLAG(0, "describe", &describe, "the table itself: types, defaults, bounds"),
        OPTION_FLAG(0, "markdown", &markdown, "the table as Markdown (docs/settings.md)"),
        OPTION_LIST('s', "set", &sets, "KEY=VALUE", "as other commands take it"),
        OPTION_END,
    };
    struct settings settings;
    struct err err;
    struct buf out;
    int status;
    if (!cli_parse(settings_main, options, argc, argv, &words, &status))
        return status;
    buf_init(&out, OUT_BYTES);
    if (describe || markdown) {
        (markdown ? settings_describe_markdown : settings_describe)(&out);
        status = EXIT_PASSED;
    } else if (cli_settings(&settings, &sets, &err) < 0) {
        status = cli_fail(EXIT_USAGE, "%s", err.text);
    } else {
        settings_show(&settings, &out);
        settings_deinit(&settings);
        status = EXIT_PASSED;
    }
    cli_print(&out);
    buf_deinit(&out);
    cli_words_deinit(&words);
    cli_words_deinit(&sets);
    return status;
}
