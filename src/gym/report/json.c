/* report_json: all figures as one object, for programs. */
#include "gym/report/report.h"

#include "base/json.h"

#define SCHEMA 1

static json_t *json_count(size_t value)
{
    return json_integer((json_int_t)value);
}

/* Null if unknown. */
static void put_interval(json_t *object, const struct gym_estimate *estimate)
{
    json_put(object, "value", json_number(estimate->value));
    json_put(object, "low", json_number(estimate->low));
    json_put(object, "high", json_number(estimate->high));
}

static json_t *figure_json(const struct gym_measure *measure, const struct gym_estimate *estimate)
{
    const struct gym_measure_row *row = &gym_measures[measure->kind];
    json_t *object = json_object();
    json_put(object, "name", json_text(row->name));
    if (row->has_p)
        json_put(object, "p", json_number(measure->p));
    if (measure->kind == GYM_PASS)
        json_put(object, "k", json_count(measure->k));
    if (measure->judged)
        json_put(object, "judged", json_true());
    put_interval(object, estimate);
    if (estimate->under > 0 && row->scale == GYM_SHARE)
        json_put(object, "over", json_number(estimate->over));
    if (estimate->under > 0)
        json_put(object, "under", json_number(estimate->under));
    return object;
}

static json_t *figures_json(const struct gym_measure *measures,
                            const struct gym_estimate *estimates, size_t total)
{
    json_t *list = json_array();
    for (size_t i = 0; i < total; i++)
        json_array_append_new(list, figure_json(&measures[i], &estimates[i]));
    return list;
}

static void put_counts(json_t *object, const struct report_set *set)
{
    json_put(object, "problems",
             json_pack("{s:o, s:o}", "asked", json_count(set->problem_count), "tried",
                       json_count(set->problems_tried)));
    json_put(object, "samples",
             json_pack("{s:o, s:o, s:o, s:o}", "asked", json_count(set->samples_asked), "found",
                       json_count(set->samples_found), "missing",
                       json_count(set->samples_asked - set->samples_found), "lost",
                       json_count(set->samples_lost)));
    json_put(object, "turns",
             json_pack("{s:o, s:o}", "found", json_count(set->turns_found), "excluded",
                       json_count(set->turns_excluded)));
}

static json_t *set_json(const struct report *report, const struct report_set *set)
{
    json_t *object = json_object();
    json_put(object, "name", json_text(set->name));
    put_counts(object, set);
    json_put(object, "figures",
             figures_json(report->measures, set->estimates, report->measure_count));
    return object;
}

static json_t *turn_json(const struct report *report, const struct report_turn *turn, size_t number)
{
    json_t *object = json_object(), *mix = json_object();
    json_put(object, "turn", json_count(number));
    for (int status = 0; status < GYM_STATUS_COUNT; status++)
        if (turn->mix[status] > 0)
            json_put(mix, gym_status_name(status), json_count(turn->mix[status]));
    json_put(object, "status", mix);
    json_put(object, "figures",
             figures_json(report->turn_measures, turn->estimates, report->turn_measure_count));
    return object;
}

static json_t *changes_json(const struct gym_changes *changes)
{
    json_t *object = json_object();
#define X(member, name) json_put(object, name, json_count(changes->member));
    GYM_CHANGES(X)
#undef X
    json_put(object, "net_improvement",
             json_integer((json_int_t)changes->improved - (json_int_t)changes->regressed));
    return object;
}

static json_t *curve_json(const struct report_run *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < REPORT_CURVE; i++) {
        json_t *point = json_object(), *problems = json_object(), *samples = json_object();
        put_interval(problems, &run->curve_problems[i]);
        put_interval(samples, &run->curve_samples[i]);
        json_put(point, "p", json_number(report_curve_p(i)));
        json_put(point, "problems", problems);
        json_put(point, "samples", samples);
        json_array_append_new(list, point);
    }
    return list;
}

static json_t *problem_json(const struct report_problem *problem)
{
    json_t *object = json_object(), *speedups = json_array();
    size_t correct;
    double best = gym_best_sample(&problem->gym, &correct);
    for (size_t i = 0; i < problem->gym.sample_count; i++) {
        double speedup = gym_best(&problem->gym.samples[i], GYM_ALL_TURNS);
        json_array_append_new(speedups, speedup >= 0 ? json_number(speedup) : json_null());
    }
    json_put(object, "problem", *problem->name ? json_text(problem->name) : json_null());
    json_put(object, "level", json_text(problem->level));
    json_put(object, "category", json_text(problem->category));
    json_put(object, "samples", json_count(problem->gym.asked));
    json_put(object, "found", json_count(problem->gym.sample_count));
    json_put(object, "correct", json_count(correct));
    json_put(object, "best_speedup", best >= 0 ? json_number(best) : json_null());
    json_put(object, "speedups", speedups);
    return object;
}

static json_t *run_json(const struct report *report, const struct report_run *run)
{
    json_t *object = set_json(report, &run->all);
    json_t *turns = json_array(), *groups = json_array(), *problems = json_array();
    json_put(object, "name", json_text(run->name));
    json_put(object, "path", json_text(run->path));
    json_put(object, "models", json_text(run->models));
    json_put(object, "languages", json_text(run->languages));
    json_put(object, "episodes",
             json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "read",
                       json_count(run->episodes_read), "counted", json_count(run->episode_count),
                       "repeated", json_count(run->repeated), "not_asked",
                       json_count(run->not_asked), "gameable", json_count(run->gameable),
                       "ended_by_error", json_count(run->ended_by_error), "last_line_cut",
                       run->cut));
    for (size_t i = 0; i < run->turn_count; i++)
        json_array_append_new(turns, turn_json(report, &run->turns[i], i));
    for (size_t i = 0; i < run->group_count; i++)
        json_array_append_new(groups, set_json(report, &run->groups[i]));
    for (size_t i = 0; i < run->all.problem_count; i++)
        json_array_append_new(problems, problem_json(&run->all.problems[i]));
    json_put(object, "by_turn", turns);
    json_put(object, "changes", changes_json(&run->changes));
    json_put(object, "groups", groups);
    json_put(object, "curve", curve_json(run));
    json_put(object, "by_problem", problems);
    return object;
}

static json_t *comparison_json(const struct report *report,
                               const struct report_comparison *comparison)
{
    json_t *object = json_object();
    json_put(object, "baseline", json_text(report->runs[comparison->a].name));
    json_put(object, "run", json_text(report->runs[comparison->b].name));
    json_put(object, "problems", json_count(comparison->problem_count));
    json_put(object, "problems_with_other_texts", json_count(comparison->other_texts));
    json_put(object, "differences",
             figures_json(report->measures, comparison->differences, report->measure_count));
    return object;
}

json_t *report_json(const struct report *report)
{
    json_t *object = json_object(), *runs = json_array(), *comparisons = json_array();
    json_put(object, "schema", json_integer(SCHEMA));
    json_put(object, "by", json_text(word_at(WORDS_IN(REPORT_GROUPINGS), report->options.by)));
    for (size_t i = 0; i < report->run_count; i++)
        json_array_append_new(runs, run_json(report, &report->runs[i]));
    for (size_t i = 0; i < report->comparison_count; i++)
        json_array_append_new(comparisons, comparison_json(report, &report->comparisons[i]));
    json_put(object, "runs", runs);
    json_put(object, "comparisons", comparisons);
    return object;
}
