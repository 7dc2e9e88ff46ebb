#include "gym/report/chart.h"

#include "gym/report/page.h"

#include <math.h>

const double chart_shares[CHART_SHARES] = {0, 0.2, 0.4, 0.6, 0.8, 1};
const double chart_speedups[CHART_SPEEDUPS] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,   2,
                                               5,    10,   20,   50,  100, 200, 500, 1000};
const struct plot_axis chart_whole = {0, 1, false};
const struct gym_estimate chart_nothing = {NAN, NAN, NAN, 0, 0, 0};

void chart_open(struct buf *out, const char *title, const char *note, bool wide)
{
    buf_printf(out, "<figure class=\"card chart%s\"><figcaption><h3>%s</h3><p>%s</p></figcaption>",
               wide ? " wide" : "", title, note);
}

void chart_close(struct buf *out)
{
    buf_puts(out, "</figure>\n");
}

void chart_legend_item(struct buf *out, const char *class, const char *text)
{
    html_printf(out, "<li><i class=\"key %s\"></i>%s</li>", class, text);
}

void chart_legend(const struct report *report, struct buf *out, bool pairs)
{
    buf_puts(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < report->run_count; i++) {
        chart_legend_item(
            out, plot_words("s%zu", i).text,
            plot_words("%.200s%s", report->runs[i].name, pairs ? ": correct" : "").text);
        if (pairs)
            chart_legend_item(out, plot_words("s%zu dashed", i).text, "at least 1×");
    }
    buf_puts(out, "</ul>");
}

void chart_estimates(struct plot *plot, const char *class, const double *x,
                     const struct gym_estimate *estimates, size_t count, bool band)
{
    struct plot_point *points = mem_alloc((3 * count + 1) * sizeof *points);
    struct plot_point *low = points + count, *high = low + count;
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct plot_point){x[i], estimates[i].value};
        low[i] = (struct plot_point){x[i], estimates[i].low};
        high[i] = (struct plot_point){x[i], estimates[i].high};
    }
    if (band)
        plot_ribbon(plot, plot_words("band %s", class).text, low, high, count);
    plot_line(plot, plot_words("line %s", class).text, points, count);
    mem_free(points);
}

void chart_dot(struct plot *plot, const char *class, double x, const char *name,
               const struct gym_estimate *estimate)
{
    double value = 100 * estimate->value;
    struct plot_words tip = isnan(estimate->low)
                                ? plot_words("%.180s: %.1f %%", name, value)
                                : plot_words("%.180s: %.1f %% (95 %%: %.1f to %.1f)", name, value,
                                             100 * estimate->low, 100 * estimate->high);
    plot_dot(plot, plot_words("dot %s", class).text, x, estimate->value, tip.text);
}

void chart_numbers_open(struct buf *out)
{
    buf_puts(out, "<details class=\"numbers\"><summary>Numbers</summary><div class=\"scroll\">"
                  "<table><thead><tr>");
}

void chart_numbers_close(struct buf *out)
{
    buf_puts(out, "</tbody></table></div></details>");
}

void chart_head(struct buf *out, const char *text)
{
    html_printf(out, "<th scope=\"col\">%s</th>", text);
}

void chart_cell(struct buf *out, const struct gym_estimate *estimate)
{
    if (isnan(estimate->value))
        buf_puts(out, "<td>–</td>");
    else if (isnan(estimate->low))
        buf_printf(out, "<td>%.1f %%</td>", 100 * estimate->value);
    else
        buf_printf(out, "<td>%.1f %% <small>%.1f–%.1f</small></td>", 100 * estimate->value,
                   100 * estimate->low, 100 * estimate->high);
}

size_t chart_turns(const struct report *report)
{
    size_t most = 1;
    for (size_t r = 0; r < report->run_count; r++)
        if (report->runs[r].turn_count > most)
            most = report->runs[r].turn_count;
    return most;
}

void page_charts(const struct report *report, struct buf *out)
{
    chart_fast(report, out);
    chart_pass(report, out);
    chart_best_of_turns(report, out);
    chart_mix(report, out);
    chart_speedup(report, out);
    if (report->run_count > 1)
        chart_pair(report, out);
}
