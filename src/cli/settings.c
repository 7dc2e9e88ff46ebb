/* settings: the table of settings, and the effective values. */
#include "cli/cli.h"

struct tables {
    bool describe, markdown;
};

static int settings_run(struct cli_call *call, void *arguments, struct err *err)
{
    const struct tables *tables = arguments;
    if (tables->markdown)
        settings_describe_markdown(&call->out);
    else if (tables->describe)
        settings_describe(&call->out);
    else
        settings_show(&call->settings, &call->out);
    return EXIT_PASSED;
}

int settings_main(struct cli_call *call)
{
    struct tables tables = {0};
    const struct cli_option options[] = {
        OPTION_FLAG(0, "describe", &tables.describe, "the table: types, defaults, bounds"),
        OPTION_FLAG(0, "markdown", &tables.markdown,
                    "the table as Markdown (docs/reference/settings.md)"),
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, settings_run, &tables);
}

static int config_show_run(struct cli_call *call, void *arguments, struct err *err)
{
    const char *file = call->settings.file;
    buf_printf(&call->out, "# %s%s\n", file ? "file: " : "no file", file ? file : "");
    settings_show(&call->settings, &call->out);
    return EXIT_PASSED;
}

int config_show_main(struct cli_call *call)
{
    const struct cli_option options[] = {OPTION_SET, OPTION_END};
    return cli_run(call, options, config_show_run, NULL);
}
