/* runs report: a run as one page. */
#include "cli/runs/runs.h"

#include "base/limits.h"
#include "base/mem.h"
#include "rl/run/page.h"

#include <stdio.h>
#include <string.h>

static int write_page(const struct run_view *view, const char *path, struct err *err)
{
    struct buf page;
    buf_init(&page, LIMIT_REPORT_BYTES);
    int result = run_page(view, &page, err);
    if (result == 0)
        result = cli_write(&page, path, err);
    if (result == 0 && strcmp(path, "-") != 0)
        printf("%s\n", path);
    buf_deinit(&page);
    return result;
}

static int runs_report_run(struct cli_call *call, void *arguments, struct err *err)
{
    const char *const *out = arguments;
    struct run_view view;
    int result = runs_open(&view, call->words.items[0], RUN_SERIES_ALL, err);
    if (result < 0)
        return result;
    char *standard = mem_printf("%s/report.html", view.path);
    result = write_page(&view, *out ? *out : standard, err);
    mem_free(standard);
    run_view_close(&view);
    return result;
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
