/* settings: the table of settings, and the effective values. */
#include "cli/cli.h"

#include <unistd.h>

#define OUT_BYTES ((size_t)1 << 20)

static int show_values(const struct cli_words *sets, bool name_file)
{
    struct settings settings;
    struct buf out;
    if (!cli_settings(&settings, sets))
        return EXIT_USAGE;
    buf_init(&out, OUT_BYTES);
    if (name_file)
        buf_printf(&out, "# %s%s\n", settings.file ? "file: " : "no file",
                   settings.file ? settings.file : "");
    settings_show(&settings, &out);
    cli_print(&out);
    buf_deinit(&out);
    settings_deinit(&settings);
    return EXIT_PASSED;
}

static int show_table(void (*describe)(struct buf *out))
{
    struct buf out;
    buf_init(&out, OUT_BYTES);
    describe(&out);
    cli_print(&out);
    buf_deinit(&out);
    return EXIT_PASSED;
}

int settings_main(int argc, char **argv)
{
    bool describe = false;
    bool markdown = false;
    struct cli_words sets = {0};
    const struct cli_option options[] = {
        OPTION_FLAG(0, "describe", &describe, "the table: types, defaults, bounds"),
        OPTION_FLAG(0, "markdown", &markdown, "the table as Markdown (docs/reference/settings.md)"),
        OPTION_SET(&sets),
        OPTION_END,
    };
    int status;
    if (!cli_parse(settings_main, options, argc, argv, NULL, &status))
        return status;
    if (describe || markdown)
        status = show_table(markdown ? settings_describe_markdown : settings_describe);
    else
        status = show_values(&sets, false);
    return cli_end(options, NULL, status);
}

int config_show_main(int argc, char **argv)
{
    struct cli_words sets = {0};
    const struct cli_option options[] = {
        OPTION_SET(&sets),
        OPTION_END,
    };
    int status;
    if (!cli_parse(config_show_main, options, argc, argv, NULL, &status))
        return status;
    return cli_end(options, NULL, show_values(&sets, true));
}
