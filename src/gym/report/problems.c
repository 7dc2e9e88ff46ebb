/* report_problems: the page's table of all problems. page.js sorts and filters it by the data-*
 * of its cells and rows, and shows a row's episodes when its name is clicked. */
#include "gym/report/page.h"

#include "gym/report/plot.h"

#include <string.h>

#define SQUARE 10       /* one turn, with its gap */
#define SQUARES_MOST 48 /* in one cell: above, a sample is one square */

/* A problem in each run; NULL if the run was not asked for it. */
struct row {
    const struct report_problem *in[REPORT_RUNS];
};

/* A sample's outcome: its best turn's status, or the last one's. */
static int outcome(const struct gym_sample *sample)
{
    int status = GYM_MISSING;
    for (size_t t = 0; t < sample->turn_count && status != STATUS_PASSED; t++)
        status = sample->turns[t].status;
    return status;
}

static void put_square(struct buf *out, size_t x, int status)
{
    buf_printf(out, "<rect class=\"st-%s\" x=\"%zu\" width=\"%d\" height=\"%d\" rx=\"2\"/>",
               gym_status_name(status), x, SQUARE - 2, SQUARE - 2);
}

/* All turns of all samples as squares, samples apart from each other. */
static void put_squares(const struct report_problem *problem, struct buf *out)
{
    size_t turns = 0, x = 0;
    for (size_t i = 0; i < problem->gym.sample_count; i++)
        turns += problem->gym.samples[i].turn_count;
    bool each = turns <= SQUARES_MOST;
    size_t width = (each ? turns : problem->gym.asked) * SQUARE + problem->gym.asked * 4;
    width = width < 2000 ? width : 2000;
    buf_printf(out,
               "<svg class=\"squares\" width=\"%zu\" height=\"%d\" viewBox=\"0 0 %zu %d\" "
               "aria-hidden=\"true\">",
               width, SQUARE - 2, width, SQUARE - 2);
    for (size_t i = 0; i < problem->gym.sample_count && x < width; i++) {
        const struct gym_sample *sample = &problem->gym.samples[i];
        for (size_t t = 0; each && t < sample->turn_count; t++, x += SQUARE)
            put_square(out, x, sample->turns[t].status);
        if (!each)
            put_square(out, x, outcome(sample));
        x += each ? 4 : SQUARE;
    }
    for (size_t i = problem->gym.sample_count; i < problem->gym.asked && x < width; i++)
        if (!each) {
            put_square(out, x, GYM_MISSING);
            x += SQUARE;
        }
    buf_puts(out, "</svg>");
}

static void cells_of_run(const struct report_problem *problem, struct buf *out)
{
    size_t correct;
    if (!problem) {
        buf_puts(out, "<td data-v=\"-2\">not asked</td><td data-v=\"-2\">–</td>");
        return;
    }
    double best = gym_best_sample(&problem->gym, &correct);
    buf_printf(out, "<td data-v=\"%.4f\"><span class=\"ratio\">%zu/%zu</span>",
               (double)correct / (double)problem->gym.asked, correct, problem->gym.asked);
    put_squares(problem, out);
    buf_printf(out, "</td><td class=\"number\" data-v=\"%.6g\">", best);
    if (best > 0)
        buf_printf(out, "<span class=\"%s\">%.2f×</span>", best >= 1 ? "gain" : "loss", best);
    else
        buf_puts(out, best == 0 ? "not timed" : "–");
    buf_puts(out, "</td>");
}

static const char *row_state(const struct report *report, const struct row *row)
{
    bool correct = false, fast = false, tried = false, cheated = false;
    for (size_t r = 0; r < report->run_count; r++) {
        const struct report_problem *problem = row->in[r];
        size_t count;
        if (!problem)
            continue;
        double best = gym_best_sample(&problem->gym, &count);
        correct |= best >= 0;
        fast |= best > 1;
        tried |= problem->gym.sample_count > 0;
        for (size_t i = 0; i < problem->gym.sample_count; i++)
            for (size_t t = 0; t < problem->gym.samples[i].turn_count; t++)
                cheated |= problem->gym.samples[i].turns[t].cheated;
    }
    if (!tried)
        return "untried";
    if (cheated)
        return fast ? "fast correct cheated" : correct ? "correct cheated" : "unsolved cheated";
    return fast ? "fast correct" : correct ? "correct" : "unsolved";
}

static void put_row(const struct report *report, const struct row *row, struct buf *out)
{
    const struct report_problem *any = NULL;
    for (size_t r = 0; r < report->run_count; r++)
        if (row->in[r] && (!any || any->episode_count == 0))
            any = row->in[r];
    const char *name = *any->name ? any->name : "(no name)";
    html_printf(out,
                "<tr data-state=\"%s\" data-level=\"%s\" data-category=\"%s\" data-episodes=\"",
                row_state(report, row), any->level, any->category);
    for (size_t r = 0; r < report->run_count; r++)
        for (size_t i = 0; row->in[r] && i < row->in[r]->episode_count; i++)
            buf_printf(out, "%zu-%zu ", r, row->in[r]->episodes[i]->order);
    html_printf(out,
                "\"><th scope=\"row\" data-v=\"%s\"><button type=\"button\" "
                "aria-expanded=\"false\">%s</button></th><td data-v=\"%s\">%s</td>"
                "<td data-v=\"%s\">%s</td>",
                name, name, any->level, any->level, any->category, any->category);
    for (size_t r = 0; r < report->run_count; r++)
        cells_of_run(row->in[r], out);
    buf_puts(out, "</tr>\n");
}

static void put_table_head(const struct report *report, struct buf *out)
{
    static const char *const titles[] = {"Problem", "Level", "Category"};
    for (size_t i = 0; i < 3; i++)
        buf_printf(out, "<th scope=\"col\"><button type=\"button\">%s</button></th>", titles[i]);
    for (size_t r = 0; r < report->run_count; r++) {
        const char *run = report->run_count > 1 ? report->runs[r].name : "";
        buf_puts(out, "<th scope=\"col\"><button type=\"button\" data-type=\"number\">");
        if (*run)
            buf_printf(out, "<i class=\"key s%zu\"></i>", r);
        html_text(out, run);
        buf_puts(out, *run ? ": correct" : "Correct samples");
        buf_puts(out, "</button></th><th scope=\"col\" class=\"number\">"
                      "<button type=\"button\" data-type=\"number\">Best speedup</button></th>");
    }
}

/* "" after the last named one. */
static const char *name_at(const struct report_set *set, size_t i)
{
    return i < set->problem_count ? set->problems[i].name : "";
}

/* Merges the runs' problems: each list is in the order of names, those without one at the end. */
void page_problems(const struct report *report, struct buf *out)
{
    size_t next[REPORT_RUNS] = {0};
    buf_puts(out, "<thead><tr>");
    put_table_head(report, out);
    buf_puts(out, "</tr></thead><tbody>\n");
    for (;;) {
        const char *least = "";
        struct row row = {0};
        for (size_t r = 0; r < report->run_count; r++) {
            const char *name = name_at(&report->runs[r].all, next[r]);
            if (*name && (!*least || strverscmp(name, least) < 0))
                least = name;
        }
        if (!*least)
            break;
        for (size_t r = 0; r < report->run_count; r++)
            if (strcmp(name_at(&report->runs[r].all, next[r]), least) == 0)
                row.in[r] = &report->runs[r].all.problems[next[r]++];
        put_row(report, &row, out);
    }
    buf_puts(out, "</tbody>");
}
