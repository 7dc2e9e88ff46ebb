/* report_chart_turns: the best of turns so far, and what became of each turn. */
#include "base/array.h"
#include "gym/report/chart.h"

#include <math.h>

#define RAMP 8 /* colours of thresholds */

/* One threshold of one run; where it ends. */
static double turn_line(const struct report *report, const struct report_run *run,
                        struct plot *plot, size_t which, const char *class)
{
    struct gym_estimate estimates[CHART_TURNS] = {0};
    size_t count = run->turn_count < CHART_TURNS ? run->turn_count : CHART_TURNS;
    double turns[CHART_TURNS] = {0}, p = report->turn_measures[which].p;
    for (size_t t = 0; t < count; t++) {
        turns[t] = (double)t;
        estimates[t] = run->turns[t].estimates[which];
    }
    chart_estimates(plot, class, turns, estimates, count, p == 0);
    for (size_t t = 0; t < count; t++)
        chart_dot(plot, class, turns[t],
                  p > 0 ? plot_words("up to turn %zu, at least %g×", t, p).text
                        : plot_words("up to turn %zu, correct", t).text,
                  &estimates[t]);
    return count > 0 ? estimates[count - 1].value : NAN;
}

/* Labels at the ends of the lines, far enough apart to be read; values fall. */
static void end_names(const struct report *report, struct plot *plot, const double *values)
{
    double last = -INFINITY;
    for (size_t i = 0; i <= report->options.p_count; i++) {
        double y = fmax(plot_y(plot, values[i]) + 4, last + 13);
        struct plot_words text = i == 0 ? plot_words("correct")
                                        : plot_words("≥ %g×", report->options.p[i - 1]);
        plot_text(plot, plot_words("name t%zu", i % RAMP).text, plot->right + 9, y, text.text);
        last = y;
    }
}

static void turn_lines(const struct report *report, struct plot *plot)
{
    double ends[REPORT_THRESHOLDS + 1];
    size_t fast = report_find_turn(report, GYM_BY_TURN, 1);
    if (report->run_count == 1) {
        for (size_t i = 0; i <= report->options.p_count; i++)
            ends[i] = turn_line(report, &report->runs[0], plot, i,
                                plot_words("t%zu", i % RAMP).text);
        end_names(report, plot, ends);
        return;
    }
    for (size_t r = 0; r < report->run_count; r++) {
        (void)turn_line(report, &report->runs[r], plot, 0, plot_words("s%zu", r).text);
        if (fast < report->turn_measure_count)
            (void)turn_line(report, &report->runs[r], plot, fast,
                            plot_words("s%zu dashed", r).text);
    }
}

static void turn_numbers(const struct report *report, struct buf *out)
{
    size_t turns = chart_turns(report), p_count = report->options.p_count;
    chart_numbers_open(out);
    chart_head(out, "up to turn");
    for (size_t r = 0; r < report->run_count; r++)
        for (size_t i = 0; i <= p_count; i++) {
            const char *run = report->run_count > 1 ? report->runs[r].name : "";
            struct plot_words title = i == 0 ? plot_words("%.200s correct", run)
                                             : plot_words("%.200s ≥ %g×", run,
                                                          report->options.p[i - 1]);
            chart_head(out, title.text);
        }
    buf_puts(out, "</tr></thead><tbody>");
    for (size_t t = 0; t < turns; t++) {
        buf_printf(out, "<tr><th scope=\"row\">%zu</th>", t);
        for (size_t r = 0; r < report->run_count; r++)
            for (size_t i = 0; i <= p_count; i++)
                chart_cell(out, t < report->runs[r].turn_count
                                    ? &report->runs[r].turns[t].estimates[i]
                                    : &chart_nothing);
        buf_puts(out, "</tr>");
    }
    chart_numbers_close(out);
}

void chart_best_of_turns(const struct report *report, struct buf *out)
{
    double ticks[CHART_TURNS];
    size_t turns = chart_turns(report);
    size_t shown = turns < CHART_TURNS ? turns : CHART_TURNS;
    bool one = report->run_count == 1;
    struct plot plot = {.x = {0, shown > 1 ? (double)(shown - 1) : 1, false}, .y = chart_whole};
    for (size_t t = 0; t < shown; t++)
        ticks[t] = (double)t;
    chart_open(out, "Best of turns",
               "Share of all samples whose best turn so far is correct, and at least so many times "
               "as fast as the reference.",
               false);
    if (!one)
        chart_legend(report, out, true);
    /* Lines labelled at their ends need no legend: the plot uses its room. */
    plot_open(&plot, out, CHART_WIDTH, CHART_HEIGHT + (one ? 28 : 0), "plot-turn",
              "Best of turns, by turn",
              "Rising curves: the share of samples that reached a threshold up to each turn.");
    plot.right -= one ? 52 : 0;
    plot_ticks_x(&plot, ticks, shown, PLOT_NUMBER);
    plot_ticks_y(&plot, chart_shares, CHART_SHARES, PLOT_PERCENT);
    plot_label_x(&plot, "turn");
    turn_lines(report, &plot);
    plot_close(&plot);
    turn_numbers(report, out);
    chart_close(out);
}

/* Best first, from the bottom of a bar upwards. */
static const int order[] = {STATUS_PASSED,
                            STATUS_WRONG,
                            STATUS_RUNTIME_ERROR,
                            STATUS_TIMEOUT,
                            STATUS_OUT_OF_MEMORY,
                            STATUS_LOAD_ERROR,
                            STATUS_COMPILE_ERROR,
                            GYM_NO_CODE,
                            STATUS_VIOLATION,
                            STATUS_UNSUPPORTED,
                            STATUS_INFRASTRUCTURE_ERROR,
                            STATUS_CANCELLED,
                            GYM_UNKNOWN,
                            GYM_OVER,
                            GYM_MISSING};
#define ORDER_COUNT COUNT(order)
_Static_assert(ORDER_COUNT == GYM_STATUS_COUNT, "each status has its place in a bar");

static struct plot_words status_words(int status)
{
    struct plot_words words = plot_words("%s", status == GYM_OVER ? "ended before"
                                                                  : gym_status_name(status));
    for (char *at = words.text; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    return words;
}

static void mix_bar(struct plot *plot, const struct report_run *run, size_t turn, double x0,
                    double x1)
{
    double total = (double)run->all.samples_asked, below = 0;
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        size_t count = run->turns[turn].mix[order[i]];
        double share = (double)count / total;
        if (count == 0)
            continue;
        plot_rect(plot, plot_words("bar st-%s", gym_status_name(order[i])).text, x0,
                  plot_y(plot, below), x1, plot_y(plot, below + share),
                  plot_words("%.100s, turn %zu: %s, %zu of %zu samples (%.1f %%)", run->name, turn,
                             status_words(order[i]).text, count, run->all.samples_asked,
                             100 * share)
                      .text);
        below += share;
    }
}

static void mix_bars(const struct report *report, struct plot *plot, size_t shown)
{
    double slot_width = (plot->right - plot->left) / (double)shown;
    double width = slot_width * 0.72 / (double)report->run_count;
    double gap = report->run_count > 1 ? 1.5 : 0;
    for (size_t t = 0; t < shown; t++) {
        for (size_t r = 0; r < report->run_count; r++) {
            double start = plot->left + slot_width * ((double)t + 0.14) + width * (double)r;
            if (t < report->runs[r].turn_count)
                mix_bar(plot, &report->runs[r], t, start, start + width - gap);
        }
        plot_text(plot, "tick middle", plot->left + slot_width * ((double)t + 0.5),
                  plot->bottom + 16, plot_words("%zu", t).text);
    }
}

static void mix_numbers(const struct report *report, const bool *seen, struct buf *out)
{
    chart_numbers_open(out);
    chart_head(out, "run");
    chart_head(out, "turn");
    for (size_t i = 0; i < ORDER_COUNT; i++)
        if (seen[order[i]])
            chart_head(out, status_words(order[i]).text);
    buf_puts(out, "</tr></thead><tbody>");
    for (size_t r = 0; r < report->run_count; r++)
        for (size_t t = 0; t < report->runs[r].turn_count; t++) {
            html_printf(out, "<tr><th scope=\"row\">%s</th><td>%zu</td>", report->runs[r].name, t);
            for (size_t i = 0; i < ORDER_COUNT; i++)
                if (seen[order[i]])
                    buf_printf(out, "<td>%zu</td>", report->runs[r].turns[t].mix[order[i]]);
            buf_puts(out, "</tr>");
        }
    chart_numbers_close(out);
}

static void mix_legend(const bool *seen, struct buf *out)
{
    buf_puts(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < ORDER_COUNT; i++)
        if (seen[order[i]])
            chart_legend_item(out, plot_words("block st-%s", gym_status_name(order[i])).text,
                              status_words(order[i]).text);
    buf_puts(out, "</ul>");
}

void chart_mix(const struct report *report, struct buf *out)
{
    bool seen[GYM_STATUS_COUNT] = {false};
    struct plot plot = {.y = chart_whole};
    size_t turns = chart_turns(report);
    for (size_t r = 0; r < report->run_count; r++)
        for (size_t t = 0; t < report->runs[r].turn_count; t++)
            for (int status = 0; status < GYM_STATUS_COUNT; status++)
                seen[status] |= report->runs[r].turns[t].mix[status] > 0;
    chart_open(out, "What became of each turn",
               report->run_count > 1
                   ? "All samples by the status of their turn; for each turn a bar for each run."
                   : "All samples by the status of their turn.",
               false);
    mix_legend(seen, out);
    plot_open(&plot, out, CHART_WIDTH, CHART_HEIGHT, "plot-mix", "Status of each turn",
              "Stacked bars, one for each turn: shares of all samples by status.");
    plot_ticks_y(&plot, chart_shares, CHART_SHARES, PLOT_PERCENT);
    plot_label_x(&plot, "turn");
    mix_bars(report, &plot, turns < CHART_TURNS ? turns : CHART_TURNS);
    plot_close(&plot);
    mix_numbers(report, seen, out);
    chart_close(out);
}
