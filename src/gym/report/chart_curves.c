/* report_chart_curves: fast_p and pass@k. */
#include "gym/report/chart.h"

static void curve_dots(const struct report *report, struct plot *plot, size_t run)
{
    for (size_t i = 0; i < report->options.p_count; i++) {
        double p = report->options.p[i];
        if (p >= REPORT_CURVE_LOW && p <= REPORT_CURVE_HIGH)
            chart_dot(
                plot, plot_words("s%zu", run).text, p,
                plot_words("%.100s, fast_%g", report->runs[run].name, p).text,
                &report->runs[run].all.estimates[report_find(report, GYM_FAST_PROBLEMS, p, 0)]);
    }
}

static void fast_numbers(const struct report *report, struct buf *out)
{
    chart_numbers_open(out);
    chart_head(out, "p");
    for (size_t r = 0; r < report->run_count; r++) {
        chart_head(out, plot_words("%.200s: problems", report->runs[r].name).text);
        chart_head(out, plot_words("%.200s: samples", report->runs[r].name).text);
    }
    buf_puts(out, "</tr></thead><tbody>");
    for (size_t i = 0; i <= report->options.p_count; i++) {
        double p = i == 0 ? 0 : report->options.p[i - 1];
        if (i == 0)
            buf_puts(out, "<tr><th scope=\"row\">correct</th>");
        else
            buf_printf(out, "<tr><th scope=\"row\">%g×</th>", p);
        for (size_t r = 0; r < report->run_count; r++) {
            const struct gym_estimate *estimates = report->runs[r].all.estimates;
            chart_cell(out, &estimates[report_find(report, GYM_FAST_PROBLEMS, p, 0)]);
            chart_cell(out, &estimates[report_find(report, GYM_FAST_SAMPLES, p, 0)]);
        }
        buf_puts(out, "</tr>");
    }
    chart_numbers_close(out);
}

void chart_fast(const struct report *report, struct buf *out)
{
    struct plot plot = {.x = {REPORT_CURVE_LOW, REPORT_CURVE_HIGH, true}, .y = chart_whole};
    bool one = report->run_count == 1;
    double p[REPORT_CURVE];
    chart_open(
        out, "fast<sub>p</sub>",
        "Share of all problems with a correct sample more than <i>p</i> times as fast as the "
        "reference. The band is the 95&nbsp;% interval.",
        false);
    if (one) {
        buf_puts(out, "<ul class=\"legend\">");
        chart_legend_item(out, "s0", "problems (best sample)");
        chart_legend_item(out, "s0 dashed", "samples");
        buf_puts(out, "</ul>");
    } else {
        chart_legend(report, out, false);
    }
    plot_open(&plot, out, CHART_WIDTH, CHART_HEIGHT, "plot-fast", "fast_p over p",
              "Falling curves: the share of problems over the speedup p, on a logarithmic scale.");
    plot_ticks_x(&plot, chart_speedups, CHART_SPEEDUPS, PLOT_TIMES);
    plot_ticks_y(&plot, chart_shares, CHART_SHARES, PLOT_PERCENT);
    plot_label_x(&plot, "speedup p over the reference");
    plot_rule(&plot, "even", plot_x(&plot, 1), plot.top, plot_x(&plot, 1), plot.bottom);
    for (size_t i = 0; i < REPORT_CURVE; i++)
        p[i] = report_curve_p(i);
    for (size_t r = 0; r < report->run_count; r++) {
        chart_estimates(&plot, plot_words("s%zu", r).text, p, report->runs[r].curve_problems,
                        REPORT_CURVE, true);
        curve_dots(report, &plot, r);
    }
    if (one)
        chart_estimates(&plot, "s0 dashed", p, report->runs[0].curve_samples, REPORT_CURVE, false);
    plot_close(&plot);
    fast_numbers(report, out);
    chart_close(out);
}

static void pass_line(struct plot *plot, const struct gym_estimate *estimates, size_t count,
                      const char *class, const char *name)
{
    double k[REPORT_PASS] = {0};
    for (size_t i = 0; i < count; i++)
        k[i] = (double)(i + 1);
    chart_estimates(plot, class, k, estimates, count, true);
    for (size_t i = 0; i < count; i++)
        chart_dot(plot, class, k[i], plot_words("pass@%zu, %.100s", i + 1, name).text,
                  &estimates[i]);
}

static void pass_numbers(const struct report *report, size_t most, struct buf *out)
{
    chart_numbers_open(out);
    chart_head(out, "k");
    for (size_t r = 0; r < report->run_count; r++) {
        chart_head(out, plot_words("%.200s: correct", report->runs[r].name).text);
        chart_head(out, plot_words("%.200s: at least 1×", report->runs[r].name).text);
    }
    buf_puts(out, "</tr></thead><tbody>");
    for (size_t k = 1; k <= most; k++) {
        buf_printf(out, "<tr><th scope=\"row\">%zu</th>", k);
        for (size_t r = 0; r < report->run_count; r++) {
            const struct report_run *run = &report->runs[r];
            bool there = k <= run->pass_count;
            chart_cell(out, there ? &run->pass_correct[k - 1] : &chart_nothing);
            chart_cell(out, there ? &run->pass_fast[k - 1] : &chart_nothing);
        }
        buf_puts(out, "</tr>");
    }
    chart_numbers_close(out);
}

static void pass_lines(const struct report *report, struct plot *plot)
{
    bool one = report->run_count == 1;
    for (size_t r = 0; r < report->run_count; r++) {
        const struct report_run *run = &report->runs[r];
        struct plot_words fast = one ? plot_words("s1") : plot_words("s%zu dashed", r);
        pass_line(plot, run->pass_correct, run->pass_count, plot_words("s%zu", r).text, "correct");
        pass_line(plot, run->pass_fast, run->pass_count, fast.text, "at least 1×");
    }
}

void chart_pass(const struct report *report, struct buf *out)
{
    double ticks[REPORT_PASS];
    size_t most = 1, tick_count = 0;
    for (size_t r = 0; r < report->run_count; r++)
        if (report->runs[r].pass_count > most)
            most = report->runs[r].pass_count;
    struct plot plot = {.x = {most > 1 ? 1 : 0, most > 1 ? (double)most : 2, false},
                        .y = chart_whole};
    for (size_t k = 1; k <= most; k += most > 16 ? most / 8 : 1)
        ticks[tick_count++] = (double)k;
    chart_open(out, "pass@k",
               "Probability that at least one of <i>k</i> samples of a problem succeeds, the mean "
               "over all problems.",
               false);
    if (report->run_count == 1) {
        buf_puts(out, "<ul class=\"legend\">");
        chart_legend_item(out, "s0", "correct");
        chart_legend_item(out, "s1", "correct and at least 1×");
        buf_puts(out, "</ul>");
    } else {
        chart_legend(report, out, true);
    }
    plot_open(&plot, out, CHART_WIDTH, CHART_HEIGHT, "plot-pass", "pass@k over k",
              "Rising curves: the probability of success over the number of samples.");
    plot_ticks_x(&plot, ticks, tick_count, PLOT_NUMBER);
    plot_ticks_y(&plot, chart_shares, CHART_SHARES, PLOT_PERCENT);
    plot_label_x(&plot, "samples k");
    pass_lines(report, &plot);
    plot_close(&plot);
    pass_numbers(report, most, out);
    chart_close(out);
}
