/* report_tables: the page's tiles and tables of figures. */
#include "gym/report/page.h"

#include "base/array.h"
#include "gym/report/plot.h"

#include <math.h>

#define TIMES "×"
#define HEAD(text) "<th scope=\"col\">" text "</th>"
#define NUMBER_HEAD(text) "<th scope=\"col\" class=\"number\">" text "</th>"

static void put_value(struct buf *out, double value, enum gym_scale scale)
{
    buf_puts(out, isnan(value) ? "–" : report_value(value, scale, TIMES).text);
}

static void put_number_cell(struct buf *out, double value, enum gym_scale scale)
{
    buf_puts(out, "<td class=\"number\">");
    put_value(out, value, scale);
    buf_puts(out, "</td>");
}

static void put_change(struct buf *out, const struct gym_measure *measure,
                       const struct gym_estimate *difference)
{
    static const char *const classes[] = {"worse", "even", "better"};
    enum gym_scale scale = gym_measures[measure->kind].scale;
    struct plot_words interval = report_change_interval(difference, scale, TIMES);
    if (isnan(difference->value))
        return;
    buf_printf(out, "<span class=\"change %s\">%s</span>",
               classes[1 + report_verdict(measure, difference)],
               report_change(difference->value, scale, TIMES).text);
    if (*interval.text)
        buf_printf(out, " <small>%s</small>", interval.text);
}

static void put_count(struct buf *out, const struct gym_measure *measure,
                      const struct gym_estimate *estimate)
{
    const struct gym_measure_row *row = &gym_measures[measure->kind];
    if (measure->kind == GYM_PASS && isnan(estimate->value))
        buf_printf(out, "asks for %zu samples of each problem", measure->k);
    else if (!(estimate->under > 0))
        buf_puts(out, "–");
    else if (row->scale == GYM_SHARE && measure->kind != GYM_PASS)
        buf_printf(out, "%.0f of %.0f %s", estimate->over, estimate->under, row->unit);
    else
        buf_printf(out, "%.0f %s", estimate->under, row->unit);
}

/* A share with its interval on a line from 0 to 1. */
static void put_gauge(struct buf *out, size_t run, const struct gym_estimate *estimate)
{
    double low = isnan(estimate->low) ? estimate->value : estimate->low;
    double high = isnan(estimate->high) ? estimate->value : estimate->high;
    buf_printf(out,
               "<svg class=\"gauge\" viewBox=\"0 0 200 8\" preserveAspectRatio=\"none\" "
               "aria-hidden=\"true\"><rect class=\"track\" width=\"200\" height=\"8\" rx=\"4\"/>"
               "<rect class=\"fill s%zu\" width=\"%.1f\" height=\"8\" rx=\"4\"/>"
               "<rect class=\"span s%zu\" x=\"%.1f\" width=\"%.1f\" height=\"8\"/></svg>",
               run, 200 * estimate->value, run, 200 * low, 200 * (high - low));
}

static void tile_of_run(const struct report *report, size_t run, size_t place, struct buf *out)
{
    const struct gym_measure *measure = &report->measures[place];
    const struct gym_estimate *estimate = &report->runs[run].all.estimates[place];
    enum gym_scale scale = gym_measures[measure->kind].scale;
    buf_puts(out, "<div class=\"value\">");
    if (report->run_count > 1)
        buf_printf(out, "<i class=\"key s%zu\"></i>", run);
    buf_puts(out, "<b>");
    put_value(out, estimate->value, scale);
    buf_puts(out, "</b>");
    if (run > 0)
        put_change(out, measure, &report->comparisons[run - 1].differences[place]);
    buf_puts(out, "</div>");
    if (report->run_count > 1)
        return;
    if (scale == GYM_SHARE && !isnan(estimate->value))
        put_gauge(out, run, estimate);
    buf_puts(out, "<div class=\"note\">");
    put_count(out, measure, estimate);
    if (!isnan(estimate->low))
        buf_printf(out, " <span>95&nbsp;%%: %s</span>",
                   report_interval(estimate, scale, TIMES).text);
    buf_puts(out, "</div>");
}

void page_tiles(const struct report *report, struct buf *out)
{
    const struct {
        const char *title;
        size_t place;
    } tiles[] = {
        {"Solved correctly", report_find(report, GYM_FAST_PROBLEMS, 0, 0)},
        {"fast<sub>1</sub>: faster", report_find(report, GYM_FAST_PROBLEMS, 1, 0)},
        {"pass@1", report_find(report, GYM_PASS, 0, 1)},
        {"Speedup, solved problems", report_find(report, GYM_SPEEDUP_SOLVED, 0, 0)},
        {"Mean return", report_find(report, GYM_RETURN, 0, 0)},
        {"Turns that cheat", report_find(report, GYM_VIOLATION, 0, 0)},
    };
    for (size_t i = 0; i < COUNT(tiles); i++) {
        if (tiles[i].place >= report->measure_count)
            continue;
        buf_printf(out, "<div class=\"card tile\"><h3>%s</h3>", tiles[i].title);
        for (size_t r = 0; r < report->run_count; r++)
            tile_of_run(report, r, tiles[i].place, out);
        buf_puts(out, "</div>\n");
    }
}

static void figure_head(const struct report *report, struct buf *out)
{
    buf_puts(out, "<table><thead><tr>" HEAD("Figure") HEAD("Of"));
    for (size_t r = 0; r < report->run_count; r++) {
        buf_puts(out, "<th scope=\"col\" class=\"number\">");
        if (report->run_count > 1)
            html_text(out, report->runs[r].name);
        else
            buf_puts(out, "Value");
        buf_puts(out, "</th><th scope=\"col\">95&nbsp;% interval</th>");
        if (r > 0)
            buf_puts(out, "<th scope=\"col\">Difference</th>");
    }
    buf_puts(out, "</tr></thead><tbody>");
}

static void figure_row(const struct report *report, size_t i, struct buf *out)
{
    const struct gym_measure *measure = &report->measures[i];
    const struct gym_measure_row *row = &gym_measures[measure->kind];
    html_printf(out, "<tr><th scope=\"row\" title=\"%s\">%s%s</th><td>", row->meaning,
                report_label(measure).text, measure->judged ? ", judged only" : "");
    if (report->run_count == 1)
        put_count(out, measure, &report->runs[0].all.estimates[i]);
    else
        buf_puts(out, row->unit);
    buf_puts(out, "</td>");
    for (size_t r = 0; r < report->run_count; r++) {
        const struct gym_estimate *estimate = &report->runs[r].all.estimates[i];
        put_number_cell(out, estimate->value, row->scale);
        buf_printf(out, "<td>%s</td>", report_interval(estimate, row->scale, TIMES).text);
        if (r > 0) {
            buf_puts(out, "<td>");
            put_change(out, measure, &report->comparisons[r - 1].differences[i]);
            buf_puts(out, "</td>");
        }
    }
    buf_puts(out, "</tr>\n");
}

static bool has_unjudged(const struct report *report)
{
    for (size_t r = 0; r < report->run_count; r++) {
        const struct report_set *all = &report->runs[r].all;
        if (all->samples_lost > 0 || all->samples_found < all->samples_asked)
            return true;
    }
    return false;
}

void page_some_figures(const struct report *report, const size_t *places, size_t count,
                       struct buf *out)
{
    figure_head(report, out);
    for (size_t i = 0; i < count; i++)
        if (places[i] < report->measure_count)
            figure_row(report, places[i], out);
    buf_puts(out, "</tbody></table>");
}

void page_figures(const struct report *report, struct buf *out)
{
    size_t *places = mem_alloc((report->measure_count + 1) * sizeof *places), count = 0;
    bool judged = has_unjudged(report);
    for (size_t i = 0; i < report->measure_count; i++)
        if (judged || !report->measures[i].judged)
            places[count++] = i;
    page_some_figures(report, places, count, out);
    mem_free(places);
}

static void turn_row(const struct report *report, const struct report_run *run, size_t t,
                     struct buf *out)
{
    static const enum gym_measure_kind kinds[] = {GYM_FORMAT, GYM_COMPILED, GYM_CORRECT,
                                                  GYM_VIOLATION, GYM_REWARD};
    const struct report_turn *turn = &run->turns[t];
    buf_printf(out, "<td class=\"number\">%zu</td><td class=\"number\">%zu</td>", t,
               run->all.samples_found - turn->mix[GYM_OVER]);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        size_t place = report_find_turn(report, kinds[i], 0);
        put_number_cell(out, turn->estimates[place].value, gym_measures[kinds[i]].scale);
    }
    for (size_t i = 0; i <= report->options.p_count; i++) {
        size_t place = report_find_turn(report, GYM_AT_TURN, i == 0 ? 0 : report->options.p[i - 1]);
        put_number_cell(out, turn->estimates[place].value, GYM_SHARE);
    }
    buf_puts(out, "</tr>\n");
}

static void turn_table(const struct report *report, struct buf *out)
{
    buf_puts(out, "<div class=\"scroll\"><table><thead><tr>" HEAD("Run") NUMBER_HEAD("Turn")
                      NUMBER_HEAD("Answers") NUMBER_HEAD("In form") NUMBER_HEAD("Compiled")
                          NUMBER_HEAD("Correct") NUMBER_HEAD("Violations") NUMBER_HEAD("Reward"));
    for (size_t i = 0; i <= report->options.p_count; i++)
        if (i == 0)
            buf_puts(out, NUMBER_HEAD("Correct of all"));
        else
            buf_printf(out, NUMBER_HEAD("> %g× of all"), report->options.p[i - 1]);
    buf_puts(out, "</tr></thead><tbody>");
    for (size_t r = 0; r < report->run_count; r++)
        for (size_t t = 0; t < report->runs[r].turn_count; t++) {
            html_printf(out, "<tr><th scope=\"row\">%s</th>", report->runs[r].name);
            turn_row(report, &report->runs[r], t, out);
        }
    buf_puts(out, "</tbody></table></div>");
}

static void change_list(const struct report *report, size_t r, struct buf *out)
{
    const struct gym_changes *c = &report->runs[r].changes;
    const struct {
        const char *class, *label;
        size_t count;
    } items[] = {{"better", "fixed", c->fixed},          {"better", "faster", c->faster},
                 {"even", "as fast as before", c->same}, {"even", "still wrong", c->still_wrong},
                 {"worse", "slower", c->slower},         {"worse", "broken", c->broken}};
    buf_puts(out, "<p class=\"changes\">");
    if (report->run_count > 1)
        html_printf(out, "<i class=\"key s%zu\"></i><b>%s</b> ", r, report->runs[r].name);
    buf_puts(out, "From turn to turn:");
    for (size_t i = 0; i < COUNT(items); i++)
        buf_printf(out, " <span class=\"change %s\"><b>%zu</b> %s</span>", items[i].class,
                   items[i].count, items[i].label);
    buf_printf(out,
               " From the first to the last: <span class=\"change better\"><b>%zu</b> improved"
               "</span> <span class=\"change worse\"><b>%zu</b> regressed</span></p>",
               c->improved, c->regressed);
}

void page_turns(const struct report *report, struct buf *out)
{
    for (size_t r = 0; r < report->run_count; r++)
        change_list(report, r, out);
    turn_table(report, out);
}

static void group_row(const struct report *report, size_t r, const struct report_set *set,
                      const size_t *places, size_t count, struct buf *out)
{
    html_printf(out,
                "<tr><td><i class=\"key s%zu\"></i>%s</td><th scope=\"row\">%s"
                "</th><td class=\"number\">%zu</td><td class=\"number\">%zu</td>",
                r, report->runs[r].name, set->name, set->problem_count, set->samples_asked);
    for (size_t i = 0; i < count; i++) {
        enum gym_scale scale = gym_measures[report->measures[places[i]].kind].scale;
        buf_puts(out, "<td class=\"number\">");
        put_value(out, set->estimates[places[i]].value, scale);
        buf_printf(out, " <small>%s</small></td>",
                   report_interval(&set->estimates[places[i]], scale, TIMES).text);
    }
    buf_puts(out, "</tr>\n");
}

void page_groups(const struct report *report, struct buf *out)
{
    size_t places[REPORT_MEASURES], count = 0;
    if (report->options.by == REPORT_BY_NONE)
        return;
    buf_puts(out,
             "<section class=\"card\"><h2>Groups</h2><div class=\"scroll\"><table><thead><tr>");
    buf_puts(out, HEAD("Run") HEAD("Group") NUMBER_HEAD("Problems") NUMBER_HEAD("Samples"));
    for (size_t i = 0; i < report->measure_count; i++)
        if (report_is_of_groups(&report->measures[i])) {
            places[count++] = i;
            buf_printf(out, NUMBER_HEAD("%s"), report_label(&report->measures[i]).text);
        }
    buf_puts(out, "</tr></thead><tbody>");
    for (size_t r = 0; r < report->run_count; r++)
        for (size_t g = 0; g < report->runs[r].group_count; g++)
            group_row(report, r, &report->runs[r].groups[g], places, count, out);
    buf_puts(out, "</tbody></table></div></section>");
}
