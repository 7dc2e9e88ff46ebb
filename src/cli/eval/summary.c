#include "cli/eval/summary.h"

#include "base/limits.h"
#include "cli/cli.h"
#include "cli/report_options.h"
#include "cli/report_table.h"

#include <unistd.h>

static void print_table(const struct report *report)
{
    struct buf out;
    buf_init(&out, LIMIT_REPORT_BYTES);
    buf_puts(&out, "\n");
    report_summary(report, style_wanted(STDOUT_FILENO), &out);
    cli_print(&out);
    buf_deinit(&out);
}

int eval_summary(const struct eval_summary *summary, struct err *err)
{
    struct report_options options = {.by = REPORT_BY_LEVEL, .names = &summary->name};
    struct report_asked asked = {0};
    struct report *report = NULL;
    int result = report_read_thresholds(REPORT_P, REPORT_K, &options, err);
    if (result == 0)
        result = report_ask_checkout(summary->search_paths, &asked, &options, err);
    if (result == 0)
        result = report_open(&report, &summary->path, 1, &options, err);
    if (result == 0 && summary->table)
        print_table(report);
    if (result == 0 && summary->html)
        result = report_write_html(report, summary->html, err);
    report_close(report);
    report_asked_deinit(&asked);
    return result;
}
