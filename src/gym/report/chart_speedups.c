/* report_chart_speedups: the best speedup of each problem, alone and against another run. */
#include "gym/report/chart.h"

#include "gym/report/internal.h"

#include <math.h>
#include <stdlib.h>

#define MORE "<p class=\"more\">Numbers: the table of <a href=\"#problems\">problems</a>.</p>"

/* The fastest correct turn of a problem. */
struct best {
    const char *name;
    double value, low, high; /* value 0: correct, not timed; -1: not solved */
};

static struct best best_of(const struct report_problem *problem)
{
    struct best best = {problem->name, -1, 0, 0};
    for (size_t i = 0; i < problem->gym.sample_count; i++)
        for (size_t t = 0; t < problem->gym.samples[i].turn_count; t++) {
            const struct gym_turn *turn = &problem->gym.samples[i].turns[t];
            if (!turn->correct || turn->excluded || turn->speedup <= best.value)
                continue;
            best.value = turn->speedup;
            best.low = turn->speedup_low;
            best.high = turn->speedup_high;
        }
    return best;
}

static int by_speedup(const void *a, const void *b)
{
    double x = ((const struct best *)a)->value, y = ((const struct best *)b)->value;
    return (x < y) - (x > y);
}

/* Falling; the caller's (mem_free). */
static struct best *sorted_bests(const struct report_run *run)
{
    struct best *bests = mem_alloc((run->all.problem_count + 1) * sizeof *bests);
    for (size_t i = 0; i < run->all.problem_count; i++)
        bests[i] = best_of(&run->all.problems[i]);
    qsort(bests, run->all.problem_count, sizeof *bests, by_speedup);
    return bests;
}

/* Wide enough for all speedups, from one of the ticks to another, with 1 well inside. */
static struct plot_axis speedup_axis(const struct report *report)
{
    const double *ticks = chart_speedups;
    double low = 0.5, high = 2;
    for (size_t r = 0; r < report->run_count; r++)
        for (size_t i = 0; i < report->runs[r].all.problem_count; i++) {
            struct best best = best_of(&report->runs[r].all.problems[i]);
            low = best.value > 0 ? fmin(low, best.low) : low;
            high = best.value > 0 ? fmax(high, best.high) : high;
        }
    struct plot_axis axis = {ticks[0], ticks[CHART_SPEEDUPS - 1], true};
    for (size_t i = 0; i < CHART_SPEEDUPS; i++) {
        if (ticks[i] <= low)
            axis.low = ticks[i];
        if (ticks[CHART_SPEEDUPS - 1 - i] >= high)
            axis.high = ticks[CHART_SPEEDUPS - 1 - i];
    }
    return axis;
}

/* Bars from 1x, the fastest problem first. */
static void waterfall(struct plot *plot, const struct report_run *run)
{
    struct best *bests = sorted_bests(run);
    size_t count = run->all.problem_count;
    double even = plot_y(plot, 1), slot_width = (plot->right - plot->left) / (double)count;
    double gap = slot_width > 5 ? 1.5 : slot_width > 2.5 ? 0.5 : 0;
    for (size_t i = 0; i < count; i++) {
        const struct best *best = &bests[i];
        const char *name = *best->name ? best->name : "a problem without a name";
        double x = plot->left + slot_width * (double)i + gap / 2, end = x + slot_width - gap;
        if (best->value <= 0) {
            bool solved = best->value == 0;
            plot_rect(
                plot, solved ? "bar untimed" : "bar unsolved", x, even - 5, end, even + 5,
                plot_words("%.150s: %s", name, solved ? "correct, not timed" : "not solved").text);
            continue;
        }
        plot_rect(plot, best->value >= 1 ? "bar gain" : "bar loss", x, even, end,
                  plot_y(plot, best->value),
                  plot_words("%.150s: %.2f× (%.2f to %.2f)", name, best->value, best->low,
                             best->high)
                      .text);
        if (slot_width > 5)
            plot_rule(plot, "whisker", (x + end) / 2, plot_y(plot, best->low), (x + end) / 2,
                      plot_y(plot, best->high));
    }
    mem_free(bests);
}

/* Each run in its own order, over the share of its problems. */
static void rank_lines(const struct report *report, struct plot *plot)
{
    for (size_t r = 0; r < report->run_count; r++) {
        const struct report_run *run = &report->runs[r];
        size_t count = run->all.problem_count;
        struct best *bests = sorted_bests(run);
        struct plot_point *points = mem_alloc((count + 1) * sizeof *points);
        for (size_t i = 0; i < count; i++)
            points[i] = (struct plot_point){((double)i + 0.5) / (double)count,
                                            bests[i].value > 0 ? bests[i].value : NAN};
        plot_line(plot, plot_words("line s%zu", r).text, points, count);
        for (size_t i = 0; i < count; i++)
            plot_dot(
                plot, plot_words("dot s%zu", r).text, points[i].x, points[i].y,
                plot_words("%.80s, %.120s: %.2f×", run->name, bests[i].name, bests[i].value).text);
        mem_free(points);
        mem_free(bests);
    }
}

void chart_speedup(const struct report *report, struct buf *out)
{
    struct plot plot = {.x = {0, 1, false}, .y = speedup_axis(report)};
    bool one = report->run_count == 1;
    chart_open(
        out, "Speedup of each problem",
        one ? "The fastest correct answer to each problem, on a logarithmic scale; grey: not "
              "solved."
            : "The fastest correct answer to each problem, each run in its own order, on a "
              "logarithmic scale. A line ends where problems are not solved.",
        one);
    if (!one)
        chart_legend(report, out, false);
    plot_open(&plot, out, one ? 2 * CHART_WIDTH + 20 : CHART_WIDTH, CHART_HEIGHT, "plot-speedup",
              "Speedup of each problem", "Problems in falling order of their best speedup.");
    plot_ticks_y(&plot, chart_speedups, CHART_SPEEDUPS, PLOT_TIMES);
    if (one)
        waterfall(&plot, &report->runs[0]);
    else
        plot_ticks_x(&plot, chart_shares, CHART_SHARES, PLOT_PERCENT);
    plot_label_x(&plot,
                 one ? "problems, the fastest first" : "share of all problems, the fastest first");
    plot_rule(&plot, "even", plot.left, plot_y(&plot, 1), plot.right, plot_y(&plot, 1));
    if (!one)
        rank_lines(report, &plot);
    plot_close(&plot);
    buf_puts(out, MORE);
    chart_close(out);
}

static void pair_dots(const struct report *report, struct plot *plot, size_t r)
{
    const struct report_set *base = &report->runs[0].all;
    struct report_pair *pairs = mem_alloc((base->problem_count + 1) * sizeof *pairs);
    size_t count = report_pair_up(base, &report->runs[r].all, pairs);
    for (size_t i = 0; i < count; i++) {
        struct best x = best_of(pairs[i].a), y = best_of(pairs[i].b);
        if (x.value > 0 && y.value > 0)
            plot_dot(plot, plot_words("dot s%zu", r).text, x.value, y.value,
                     plot_words("%.150s: %.2f× and %.2f×", x.name, x.value, y.value).text);
    }
    mem_free(pairs);
}

void chart_pair(const struct report *report, struct buf *out)
{
    struct plot plot = {.x = speedup_axis(report), .y = speedup_axis(report)};
    chart_open(out, "Problem by problem",
               "Best speedups of the problems that both runs solved: above the diagonal the later "
               "run is faster.",
               false);
    chart_legend(report, out, false);
    plot_open(&plot, out, CHART_WIDTH, CHART_HEIGHT, "plot-pair",
              "Speedups of two runs, by problem",
              "A point for each problem: speedup in the first run and in another.");
    plot_ticks_x(&plot, chart_speedups, CHART_SPEEDUPS, PLOT_TIMES);
    plot_ticks_y(&plot, chart_speedups, CHART_SPEEDUPS, PLOT_TIMES);
    plot_label_x(&plot, plot_words("speedup in %.200s", report->runs[0].name).text);
    plot_rule(&plot, "even", plot.left, plot.bottom, plot.right, plot.top);
    for (size_t r = 1; r < report->run_count; r++)
        pair_dots(report, &plot, r);
    plot_close(&plot);
    buf_puts(out, MORE);
    chart_close(out);
}
