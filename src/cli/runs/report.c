/* runs report: a run as one page. */
#include "cli/runs/runs.h"

#include "base/limits.h"
#include "base/mem.h"
#include "rl/run/page.h"

#include <string.h>

static int write_page(struct cli_call *call, struct run_view *view, void *arguments,
                      struct err *err)
{
    const char *const *out = arguments;
    char *standard = mem_printf("%s/report.html", view->path);
    const char *path = *out ? *out : standard;
    struct buf page;
    buf_init(&page, LIMIT_REPORT_BYTES);
    int result = run_page(view, &page, err);
    if (result == 0)
        result = cli_write(&page, path, err);
    if (result == 0 && strcmp(path, "-") != 0)
        buf_printf(&call->out, "%s\n", path);
    buf_deinit(&page);
    mem_free(standard);
    return result;
}

static int runs_report_run(struct cli_call *call, void *arguments, struct err *err)
{
    return runs_do(call, RUN_SERIES_ALL, write_page, arguments, err);
}

int runs_report_main(struct cli_call *call)
{
    const char *out = NULL;
    const struct cli_option options[] = {
        OPTION_STRING('o', "out", &out, "FILE", "the page; - is standard output; RUN/report.html"),
        OPTION_END,
    };
    return cli_run(call, options, runs_report_run, &out);
}
