#include "cli/report_table.h"

#include "base/array.h"
#include "base/limits.h"
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>

#define CELL_BYTES 96

static void cell_value(struct table *table, const struct gym_estimate *estimate,
                       enum gym_scale scale)
{
    table_cell(table, isnan(estimate->value) ? STYLE_FAINT : STYLE_NONE, "%s",
               report_value(estimate->value, scale, "x").text);
}

static void cell_difference(struct table *table, const struct gym_measure *measure,
                            const struct gym_estimate *difference)
{
    static const enum style styles[] = {STYLE_BAD, STYLE_NONE, STYLE_GOOD};
    enum gym_scale scale = gym_measures[measure->kind].scale;
    table_cell(table, styles[1 + report_verdict(measure, difference)], "%s",
               report_change(difference->value, scale, "x").text);
    table_cell(table, STYLE_FAINT, "%s", report_change_interval(difference, scale, "x").text);
}

void report_columns(struct table *table, const struct report *report)
{
    for (size_t i = 0; i < report->run_count; i++) {
        table_column(table, report->runs[i].name, TABLE_RIGHT);
        if (i > 0) {
            table_column(table, "difference", TABLE_RIGHT);
            table_column(table, "95 % interval", TABLE_RIGHT);
        }
    }
}

void report_cells(struct table *table, const struct report *report, size_t measure)
{
    enum gym_scale scale = gym_measures[report->measures[measure].kind].scale;
    for (size_t i = 0; i < report->run_count; i++) {
        cell_value(table, &report->runs[i].all.estimates[measure], scale);
        if (i > 0)
            cell_difference(table, &report->measures[measure],
                            &report->comparisons[i - 1].differences[measure]);
    }
}

static const char *plural_s(size_t count)
{
    return count == 1 ? "" : "s";
}

static void add_heading(const struct report_run *run, bool colour, struct buf *out)
{
    const struct report_set *all = &run->all;
    struct buf text;
    buf_init(&text, 4096);
    buf_printf(&text, "%zu episode%s of %zu problem%s, %zu sample%s of each at most",
               run->episode_count, plural_s(run->episode_count), all->problems_tried,
               plural_s(all->problems_tried), run->sample_most, plural_s(run->sample_most));
    if (*run->models)
        buf_printf(&text, "; %s", run->models);
    if (*run->languages)
        buf_printf(&text, "; %s", run->languages);
    struct table *line = table_new("|"); /* its cells are safe for the terminal */
    table_cell(line, STYLE_STRONG, "%s", run->name);
    table_cell(line, STYLE_NONE, "%s", text.data);
    table_render(line, colour, out);
    table_free(line);
    buf_deinit(&text);
}

/* Caveats for the denominators. */
static void add_remarks(const struct report_run *run, bool sound, bool colour, struct buf *out)
{
    const struct {
        size_t count;
        const char *text;
    } rows[] = {
        {run->all.problem_count - run->all.problems_tried, "missing problems count as not solved"},
        {run->all.samples_asked - run->all.samples_found,
         "samples are missing and count as not solved"},
        {run->all.samples_lost, "samples were lost to the infrastructure and count as not solved"},
        {run->all.turns_excluded,
         "turns without a statement on the candidate are left out of rates"},
        {run->ended_by_error, "episodes ended by an error"},
        {run->repeated, "duplicate episodes count once"},
        {run->not_asked, "episodes of problems that were not requested are left out"},
        {run->gameable, sound ? "episodes of problems that can be gamed are left out"
                              : "episodes are of problems that can be gamed (--sound: without)"},
        {run->cut, "partial last line was left out"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char line[160];
        if (rows[i].count == 0)
            continue;
        snprintf(line, sizeof line, "  %zu %s\n", rows[i].count, rows[i].text);
        style_puts(out, colour, STYLE_WARN, line);
    }
}

static void cell_count(struct table *table, const struct gym_measure *measure,
                       const struct gym_estimate *estimate)
{
    const struct gym_measure_row *row = &gym_measures[measure->kind];
    bool counts = row->scale == GYM_SHARE && measure->kind != GYM_PASS;
    if (measure->kind == GYM_PASS && isnan(estimate->value))
        table_cell(table, STYLE_FAINT, "needs %zu samples of each problem", measure->k);
    else if (!(estimate->under > 0))
        table_cell(table, STYLE_FAINT, "%s", "");
    else if (counts)
        table_cell(table, STYLE_FAINT, "%.0f of %.0f %s", estimate->over, estimate->under,
                   row->unit);
    else
        table_cell(table, STYLE_FAINT, "%.0f %s", estimate->under, row->unit);
}

/* Figures without unavailable samples are shown only if they differ; those of samples, and of
 * sample 0, only where there are several. */
static bool is_shown(const struct report *report, const struct gym_measure *measure)
{
    bool of_samples = measure->kind == GYM_FAST_SAMPLES || measure->kind == GYM_FAST_FIRST ||
                      measure->kind == GYM_SPEEDUP_FIRST;
    bool one = report->run_count == 1 && report->runs[0].sample_most == 1;
    return !measure->judged && !(of_samples && one);
}

static void figures_of_one(const struct report *report, bool colour, struct buf *out)
{
    const struct gym_estimate *estimates = report->runs[0].all.estimates;
    struct table *table = table_new("figure|>value|>95 % interval|of");
    for (size_t i = 0; i < report->measure_count; i++) {
        const struct gym_measure *measure = &report->measures[i];
        enum gym_scale scale = gym_measures[measure->kind].scale;
        if (!is_shown(report, measure))
            continue;
        table_cell(table, STYLE_NONE, "%s", report_label(measure).text);
        cell_value(table, &estimates[i], scale);
        table_cell(table, STYLE_FAINT, "%s", report_interval(&estimates[i], scale, "x").text);
        cell_count(table, measure, &estimates[i]);
    }
    table_render(table, colour, out);
    table_free(table);
}

static void figures_of_many(const struct report *report, bool colour, struct buf *out)
{
    struct table *table = table_new("figure|of");
    report_columns(table, report);
    for (size_t i = 0; i < report->measure_count; i++) {
        const struct gym_measure *measure = &report->measures[i];
        if (!is_shown(report, measure))
            continue;
        table_cell(table, STYLE_NONE, "%s", report_label(measure).text);
        table_cell(table, STYLE_FAINT, "%s", gym_measures[measure->kind].unit);
        report_cells(table, report, i);
    }
    table_render(table, colour, out);
    table_free(table);
}

static void add_comparison(const struct report *report, struct buf *out)
{
    for (size_t i = 0; i < report->comparison_count; i++) {
        const struct report_comparison *comparison = &report->comparisons[i];
        buf_printf(out, "differences of column %zu: over the %zu problem%s common to both",
                   comparison->b + 1, comparison->problem_count,
                   plural_s(comparison->problem_count));
        if (comparison->other_texts > 0)
            buf_printf(out, "; %zu of them changed in between", comparison->other_texts);
        buf_puts(out, "\n");
    }
}

/* Verdicts have one turn, of which the figures above say all. */
static void add_turns(const struct report *report, const struct report_run *run, bool colour,
                      struct buf *out)
{
    static const enum gym_measure_kind rates[] = {GYM_COMPILED, GYM_CORRECT, GYM_VIOLATION,
                                                  GYM_REWARD};
    if (!*run->rewards && run->turn_count <= 1)
        return;
    struct table *table = table_new(">turn|>answers|>compiled|>correct|>violation|>reward");
    for (size_t i = 0; i <= report->options.p_count; i++) {
        char title[CELL_BYTES];
        snprintf(title, sizeof title, i == 0 ? "best: correct" : "fast_%g",
                 i == 0 ? 0 : report->options.p[i - 1]);
        table_column(table, title, TABLE_RIGHT);
    }
    for (size_t t = 0; t < run->turn_count; t++) {
        const struct report_turn *turn = &run->turns[t];
        size_t answers = run->all.samples_found - turn->mix[GYM_OVER];
        table_cell(table, STYLE_NONE, "%zu", t);
        table_cell(table, STYLE_NONE, "%zu", answers);
        for (size_t i = 0; i < 4; i++)
            cell_value(table, &turn->estimates[report_find_turn(report, rates[i], 0)],
                       gym_measures[rates[i]].scale);
        for (size_t i = 0; i <= report->options.p_count; i++)
            cell_value(table, &turn->estimates[i], GYM_SHARE);
    }
    table_render(table, colour, out);
    table_free(table);
}

static void add_changes(const struct report_run *run, struct buf *out)
{
    const struct gym_changes *c = &run->changes;
    if (run->turn_count < 2)
        return;
    buf_printf(out,
               "from turn to turn: %zu fixed, %zu broken, %zu faster, %zu slower, %zu as fast, "
               "%zu still wrong\n"
               "first to last turn: %zu correct at first, %zu at last, %zu improved, "
               "%zu regressed\n",
               c->fixed, c->broken, c->faster, c->slower, c->same, c->still_wrong, c->first_correct,
               c->last_correct, c->improved, c->regressed);
}

/* A column of the groups' table: a group, or the whole run. */
struct column {
    const struct report_run *run;
    const struct report_set *set;
};

static size_t list_columns(const struct report *report, struct column *columns)
{
    size_t count = 0;
    for (size_t r = 0; r < report->run_count; r++) {
        const struct report_run *run = &report->runs[r];
        for (size_t g = 0; g < run->group_count; g++)
            columns[count++] = (struct column){run, &run->groups[g]};
        columns[count++] = (struct column){run, &run->all};
    }
    return count;
}

static void name_columns(const struct report *report, const struct column *columns, size_t count,
                         struct table *table)
{
    for (size_t c = 0; c < count; c++) {
        char title[CELL_BYTES];
        const char *name = columns[c].set == &columns[c].run->all ? "all" : columns[c].set->name;
        bool one = report->run_count == 1;
        snprintf(title, sizeof title, "%s%s%s", one ? "" : columns[c].run->name, one ? "" : ": ",
                 name);
        table_column(table, title, TABLE_RIGHT);
    }
}

static bool is_known(const struct column *columns, size_t count, size_t measure)
{
    for (size_t c = 0; c < count; c++)
        if (!isnan(columns[c].set->estimates[measure].value))
            return true;
    return false;
}

/* Figures that no group has are left out. */
static void add_groups(const struct report *report, bool colour, struct buf *out)
{
    size_t most = 0;
    for (size_t r = 0; r < report->run_count; r++)
        most += report->runs[r].group_count + 1;
    struct column *columns = mem_alloc((most + 1) * sizeof *columns);
    size_t count = list_columns(report, columns);
    struct table *table = table_new("figure");
    name_columns(report, columns, count, table);
    table_cell(table, STYLE_NONE, "problems");
    for (size_t c = 0; c < count; c++)
        table_cell(table, STYLE_NONE, "%zu", columns[c].set->problem_count);
    table_cell(table, STYLE_NONE, "samples");
    for (size_t c = 0; c < count; c++)
        table_cell(table, STYLE_NONE, "%zu", columns[c].set->samples_asked);
    for (size_t i = 0; i < report->measure_count; i++) {
        const struct gym_measure *measure = &report->measures[i];
        if (!report_is_of_groups(measure) || !is_shown(report, measure) ||
            !is_known(columns, count, i))
            continue;
        table_cell(table, STYLE_NONE, "%s", report_label(measure).text);
        for (size_t c = 0; c < count; c++)
            cell_value(table, &columns[c].set->estimates[i], gym_measures[measure->kind].scale);
    }
    table_render(table, colour, out);
    table_free(table);
    mem_free(columns);
}

static void add_headings(const struct report *report, bool colour, struct buf *out)
{
    for (size_t i = 0; i < report->run_count; i++) {
        add_heading(&report->runs[i], colour, out);
        add_remarks(&report->runs[i], report->options.sound, colour, out);
    }
    buf_puts(out, "\n");
}

void report_summary(const struct report *report, bool colour, struct buf *out)
{
    add_headings(report, colour, out);
    add_groups(report, colour, out);
}

void report_table(const struct report *report, bool colour, struct buf *out)
{
    add_headings(report, colour, out);
    (report->run_count == 1 ? figures_of_one : figures_of_many)(report, colour, out);
    add_comparison(report, out);
    for (size_t i = 0; i < report->run_count; i++) {
        buf_puts(out, "\n");
        if (report->run_count > 1)
            style_puts(out, colour, STYLE_STRONG, report->runs[i].name);
        buf_puts(out, report->run_count > 1 ? "\n" : "");
        add_turns(report, &report->runs[i], colour, out);
        add_changes(&report->runs[i], out);
    }
    if (report->options.by != REPORT_BY_NONE) {
        buf_puts(out, "\n");
        add_groups(report, colour, out);
    }
}

int report_write_html(const struct report *report, const char *path, struct err *err)
{
    struct buf page;
    buf_init(&page, LIMIT_REPORT_BYTES);
    int result = report_html(report, NULL, &page, err);
    if (result == 0)
        result = cli_write(&page, path, err);
    buf_deinit(&page);
    return result;
}
