#include "cli/runs/held_out.h"

#include "base/array.h"
#include "base/mem.h"
#include "cli/report_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define CELL_BYTES 64

/* The evaluation's path in the row of that step; NULL: none. */
static char *evaluation_of(const struct run_view *view, uint64_t step)
{
    for (size_t row = view->series.count; row-- > 0;)
        if (view->series.steps[row] == step)
            return run_view_evaluation(view, row);
    return NULL;
}

/* The number of problems common to all; 0: they differ. */
static size_t problems_at(const struct run_view *views, size_t count, uint64_t step)
{
    size_t problems = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t row = views[i].series.count; row-- > 0;)
            if (views[i].series.steps[row] == step) {
                size_t here = run_view_problems(&views[i], row);
                if (i > 0 && here != problems)
                    return 0;
                problems = here;
                break;
            }
    return problems;
}

static void free_paths(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free(paths[i]);
        paths[i] = NULL;
    }
}

/* False: a run has no evaluation at this step. */
static bool find_at(const struct run_view *views, size_t count, uint64_t step, char **paths)
{
    for (size_t i = 0; i < count; i++)
        if (!(paths[i] = evaluation_of(&views[i], step))) {
            free_paths(paths, i);
            return false;
        }
    return true;
}

int runs_held_out(const struct run_view *views, size_t count, uint64_t step, struct report **out,
                  uint64_t *at, struct err *err)
{
    const char *names[REPORT_RUNS];
    char *paths[REPORT_RUNS];
    const struct run_series *series = &views[0].series;
    size_t row = series->count;
    *out = NULL;
    if (count > REPORT_RUNS)
        return 0;
    while (row > 0 &&
           (series->steps[row - 1] > step || !find_at(views, count, series->steps[row - 1], paths)))
        row--;
    if (row == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        names[i] = views[i].name;
    *at = series->steps[row - 1];
    const struct report_options options = {.p = {1},
                                           .p_count = 1,
                                           .names = names,
                                           .problem_total = problems_at(views, count, *at)};
    int result = report_open(out, (const char *const *)paths, count, &options, err);
    free_paths(paths, count);
    return result;
}

/* The speedups beside it are each over what its own run solved. */
static void put_speedup_remark(const struct report *report,
                               const struct report_comparison *comparison, struct buf *out)
{
    const size_t place = report_find(report, GYM_SPEEDUP_SOLVED, 0, 0);
    if (place == report->measure_count || isnan(comparison->differences[place].value))
        return;
    buf_printf(out,
               "  the change of speedup in column %zu is over the %zu problems that both solved\n",
               comparison->b + 1, comparison->differences[place].pairs);
}

/* Caveats for the differences. */
static void put_remarks(const struct report *report, bool colour, struct buf *out)
{
    for (size_t i = 0; i < report->comparison_count; i++) {
        const struct report_comparison *comparison = &report->comparisons[i];
        char line[CELL_BYTES * 4];
        if (comparison->problem_count < report->runs[comparison->b].all.problem_count)
            buf_printf(out,
                       "  differences of column %zu are over the %zu problems that both held out\n",
                       comparison->b + 1, comparison->problem_count);
        put_speedup_remark(report, comparison, out);
        snprintf(line, sizeof line,
                 "  %zu of the problems of column %zu are others of the same name: no comparison\n",
                 comparison->other_texts, comparison->b + 1);
        if (comparison->other_texts > 0)
            style_puts(out, colour, STYLE_WARN, line);
    }
}

void runs_held_out_table(const struct report *report, uint64_t at, bool colour, struct buf *out)
{
    const struct {
        const char *label;
        size_t place;
    } rows[] = {
        {"right answers", report_find(report, GYM_FAST_SAMPLES, 0, 0)},
        {"right and faster", report_find(report, GYM_FAST_SAMPLES, 1, 0)},
        {"solved problems", report_find(report, GYM_FAST_PROBLEMS, 0, 0)},
        {"their speedup", report_find(report, GYM_SPEEDUP_SOLVED, 0, 0)},
    };
    char title[CELL_BYTES];
    snprintf(title, sizeof title, "held out, at step %" PRIu64, at);
    struct table *table = table_new(title);
    report_columns(table, report);
    for (size_t i = 0; i < COUNT(rows); i++) {
        table_cell(table, STYLE_NONE, "%s", rows[i].label);
        report_cells(table, report, rows[i].place);
    }
    table_render(table, colour, out);
    table_free(table);
    put_remarks(report, colour, out);
}
