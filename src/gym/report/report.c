#include "base/array.h"
#include "gym/report/internal.h"

#include <math.h>
#include <string.h>

/* "Correct", then each threshold. */
static void add_thresholds(struct gym_measure *list, size_t *count, struct gym_measure measure,
                           const struct report_options *options)
{
    for (size_t i = 0; i <= options->p_count; i++) {
        measure.p = i == 0 ? 0 : options->p[i - 1];
        list[(*count)++] = measure;
    }
}

static void list_measures(struct report *report)
{
    static const enum gym_measure_kind plain[] = {GYM_SPEEDUP_SOLVED, GYM_SPEEDUP_ALL,
                                                  GYM_SPEEDUP_FIRST,  GYM_RETURN,
                                                  GYM_REWARD,         GYM_FORMAT,
                                                  GYM_COMPILED,       GYM_CORRECT,
                                                  GYM_VIOLATION};
    const struct report_options *options = &report->options;
    struct gym_measure *list = report->measures;
    size_t *count = &report->measure_count;
    for (int judged = 0; judged < 2; judged++) {
        add_thresholds(list, count, (struct gym_measure){GYM_FAST_PROBLEMS, .judged = judged},
                       options);
        add_thresholds(list, count, (struct gym_measure){GYM_FAST_SAMPLES, .judged = judged},
                       options);
    }
    add_thresholds(list, count, (struct gym_measure){.kind = GYM_FAST_FIRST}, options);
    for (int fast = 0; fast < 2; fast++)
        for (size_t i = 0; i < options->k_count; i++)
            list[(*count)++] = (struct gym_measure){GYM_PASS, .p = fast, .k = options->k[i]};
    for (size_t i = 0; i < COUNT(plain); i++)
        list[(*count)++] = (struct gym_measure){plain[i], .turn = GYM_ALL_TURNS};
}

static void list_turn_measures(struct report *report)
{
    static const enum gym_measure_kind plain[] = {GYM_REWARD, GYM_FORMAT, GYM_COMPILED, GYM_CORRECT,
                                                  GYM_VIOLATION};
    struct gym_measure *list = report->turn_measures;
    size_t *count = &report->turn_measure_count;
    add_thresholds(list, count, (struct gym_measure){.kind = GYM_BY_TURN}, &report->options);
    add_thresholds(list, count, (struct gym_measure){.kind = GYM_AT_TURN}, &report->options);
    for (size_t i = 0; i < COUNT(plain); i++)
        list[(*count)++] = (struct gym_measure){.kind = plain[i]};
}

size_t report_find(const struct report *report, enum gym_measure_kind kind, double p, size_t k)
{
    size_t i = 0;
    for (; i < report->measure_count; i++) {
        const struct gym_measure *measure = &report->measures[i];
        if (measure->kind == kind && measure->p == p && measure->k == k && !measure->judged)
            break;
    }
    return i;
}

size_t report_find_turn(const struct report *report, enum gym_measure_kind kind, double p)
{
    size_t i = 0;
    while (i < report->turn_measure_count &&
           (report->turn_measures[i].kind != kind || report->turn_measures[i].p != p))
        i++;
    return i;
}

double report_curve_p(size_t i)
{
    double span = log(REPORT_CURVE_HIGH / REPORT_CURVE_LOW);
    return REPORT_CURVE_LOW * exp(span * (double)i / (REPORT_CURVE - 1));
}

/* One set of problems, its resamples, and room for the terms of one measure. */
struct estimator {
    const struct report_set *set;
    struct gym_resamples *resamples;
    struct gym_term *terms;
};

/* Fewer rounds for many problems: intervals are narrow there, and rounds cost memory. */
static size_t rounds_for(size_t problems)
{
    size_t most = (size_t)4000000 / (problems + 1);
    return most > GYM_ROUNDS ? GYM_ROUNDS : most < 200 ? 200 : most;
}

static void estimator_init(struct estimator *estimator, const struct report_set *set)
{
    size_t n = set->problem_count;
    *estimator = (struct estimator){set, gym_resamples_new(n, rounds_for(n), GYM_SEED),
                                    mem_alloc((n + 1) * sizeof *estimator->terms)};
}

static void estimator_deinit(struct estimator *estimator)
{
    gym_resamples_free(estimator->resamples);
    mem_free(estimator->terms);
}

static struct gym_estimate estimate_measure(struct estimator *estimator, struct gym_measure measure)
{
    const struct report_set *set = estimator->set;
    for (size_t i = 0; i < set->problem_count; i++)
        estimator->terms[i] = gym_term(&measure, &set->problems[i].gym);
    return gym_estimate(estimator->terms, set->problem_count, gym_measures[measure.kind].scale,
                        estimator->resamples);
}

static void estimate_set(struct report *report, struct estimator *estimator, struct report_set *set)
{
    set->estimates = arena_alloc(&report->arena, report->measure_count * sizeof *set->estimates);
    for (size_t i = 0; i < report->measure_count; i++)
        set->estimates[i] = estimate_measure(estimator, report->measures[i]);
}

static void estimate_curves(struct report *report, struct estimator *estimator,
                            struct report_run *run)
{
    for (size_t i = 0; i < REPORT_CURVE; i++) {
        struct gym_measure measure = {.kind = GYM_FAST_PROBLEMS, .p = report_curve_p(i)};
        run->curve_problems[i] = estimate_measure(estimator, measure);
        measure.kind = GYM_FAST_SAMPLES;
        run->curve_samples[i] = estimate_measure(estimator, measure);
    }
    run->pass_count = run->sample_most < REPORT_PASS ? run->sample_most : REPORT_PASS;
    size_t size = run->pass_count * sizeof *run->pass_correct;
    run->pass_correct = arena_alloc(&report->arena, size);
    run->pass_fast = arena_alloc(&report->arena, size);
    for (size_t k = 1; k <= run->pass_count; k++) {
        struct gym_measure measure = {.kind = GYM_PASS, .k = k};
        run->pass_correct[k - 1] = estimate_measure(estimator, measure);
        measure.p = 1;
        run->pass_fast[k - 1] = estimate_measure(estimator, measure);
    }
}

static int status_at(const struct gym_sample *sample, size_t turn)
{
    return turn < sample->turn_count ? sample->turns[turn].status : GYM_OVER;
}

static void mix_turns(struct report_run *run)
{
    const struct report_set *set = &run->all;
    for (size_t i = 0; i < set->problem_count; i++) {
        const struct gym_problem *problem = &set->problems[i].gym;
        for (size_t t = 0; t < run->turn_count; t++) {
            run->turns[t].mix[GYM_MISSING] += problem->asked - problem->sample_count;
            for (size_t j = 0; j < problem->sample_count; j++)
                run->turns[t].mix[status_at(&problem->samples[j], t)]++;
        }
    }
}

static void walk_samples(struct report_run *run)
{
    for (size_t i = 0; i < run->all.problem_count; i++) {
        const struct gym_problem *problem = &run->all.problems[i].gym;
        for (size_t j = 0; j < problem->sample_count; j++) {
            gym_changes_add(&run->changes, &problem->samples[j]);
            if (problem->samples[j].turn_count > run->turn_count)
                run->turn_count = problem->samples[j].turn_count;
        }
    }
}

static void estimate_turns(struct report *report, struct estimator *estimator,
                           struct report_run *run)
{
    run->turns = arena_alloc(&report->arena, (run->turn_count + 1) * sizeof *run->turns);
    mix_turns(run);
    for (size_t t = 0; t < run->turn_count; t++) {
        struct report_turn *turn = &run->turns[t];
        turn->estimates = arena_alloc(&report->arena,
                                      report->turn_measure_count * sizeof *turn->estimates);
        for (size_t i = 0; i < report->turn_measure_count; i++) {
            struct gym_measure measure = report->turn_measures[i];
            measure.turn = t;
            turn->estimates[i] = estimate_measure(estimator, measure);
        }
    }
}

static void estimate_run(struct report *report, struct report_run *run)
{
    struct estimator estimator;
    walk_samples(run);
    estimator_init(&estimator, &run->all);
    estimate_set(report, &estimator, &run->all);
    estimate_curves(report, &estimator, run);
    estimate_turns(report, &estimator, run);
    estimator_deinit(&estimator);
    for (size_t i = 0; i < run->group_count; i++) {
        estimator_init(&estimator, &run->groups[i]);
        estimate_set(report, &estimator, &run->groups[i]);
        estimator_deinit(&estimator);
    }
}

size_t report_pair_up(const struct report_set *a, const struct report_set *b,
                      struct report_pair *pairs)
{
    size_t count = 0;
    for (size_t i = 0, j = 0; i < a->problem_count && j < b->problem_count;) {
        const char *x = a->problems[i].name, *y = b->problems[j].name;
        int order = (*x == '\0') - (*y == '\0'); /* in both sets unnamed ones are last */
        order = order ? order : strverscmp(x, y);
        if (order == 0)
            pairs[count++] = (struct report_pair){&a->problems[i], &b->problems[j]};
        i += order <= 0;
        j += order >= 0;
    }
    return count;
}

static bool texts_differ(const struct report_pair *pair)
{
    return *pair->a->hash && *pair->b->hash && strcmp(pair->a->hash, pair->b->hash) != 0;
}

static void compare_run(struct report *report, struct report_comparison *comparison)
{
    const struct report_set *a = &report->runs[comparison->a].all;
    const struct report_set *b = &report->runs[comparison->b].all;
    struct report_pair *pairs = mem_alloc((a->problem_count + 1) * sizeof *pairs);
    size_t count = report_pair_up(a, b, pairs);
    struct gym_term *terms = mem_alloc((2 * count + 1) * sizeof *terms);
    struct gym_resamples *resamples = gym_resamples_new(count, rounds_for(count), GYM_SEED);
    comparison->problem_count = count;
    for (size_t i = 0; i < count; i++)
        comparison->other_texts += texts_differ(&pairs[i]);
    comparison->differences = arena_alloc(&report->arena,
                                          report->measure_count * sizeof *comparison->differences);
    for (size_t m = 0; m < report->measure_count; m++) {
        const struct gym_measure *measure = &report->measures[m];
        for (size_t i = 0; i < count; i++) {
            terms[i] = gym_term(measure, &pairs[i].a->gym);
            terms[count + i] = gym_term(measure, &pairs[i].b->gym);
        }
        comparison->differences[m] = gym_difference(terms, terms + count, count,
                                                    gym_measures[measure->kind].scale, resamples);
    }
    gym_resamples_free(resamples);
    mem_free(terms);
    mem_free(pairs);
}

/* The last informative part of the path. */
static const char *name_of(struct arena *arena, const char *path)
{
    char *copy = arena_strdup(arena, path);
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    char *last = strrchr(copy, '/');
    if (last && last > copy && strcmp(last, "/trajectories.jsonl") == 0) {
        *last = '\0';
        last = strrchr(copy, '/');
    }
    return last && last[1] ? last + 1 : copy;
}

static void name_runs(struct report *report)
{
    const char *const *names = report->options.names;
    for (size_t i = 0; i < report->run_count; i++)
        report->runs[i].name = names ? arena_strdup(&report->arena, names[i])
                                     : name_of(&report->arena, report->runs[i].path);
    for (size_t i = 0; i < report->run_count; i++)
        for (size_t j = 0; j < report->run_count; j++)
            if (i != j && strcmp(report->runs[i].name, report->runs[j].name) == 0)
                report->runs[i].name = report->runs[i].path;
}

static int open_runs(struct report *report, struct err *err)
{
    for (size_t i = 0; i < report->run_count; i++) {
        struct report_run *run = &report->runs[i];
        int result = report_read(report, run, err);
        if (result == 0)
            result = report_make_sets(report, run, err);
        if (result < 0)
            return result;
        estimate_run(report, run);
    }
    return 0;
}

static void compare_runs(struct report *report)
{
    report->comparisons = arena_alloc(&report->arena,
                                      report->run_count * sizeof *report->comparisons);
    for (size_t i = 1; i < report->run_count; i++) {
        struct report_comparison *comparison = &report->comparisons[report->comparison_count++];
        comparison->b = i;
        compare_run(report, comparison);
    }
}

int report_open(struct report **out, const char *const *paths, size_t count,
                const struct report_options *options, struct err *err)
{
    *out = NULL;
    if (count == 0 || count > REPORT_RUNS)
        return err_set(err, ERR_INPUT, "%zu runs; a report takes 1 to %d", count, REPORT_RUNS);
    struct report *report = mem_alloc(sizeof *report);
    report->options = *options;
    report->run_count = count;
    report->runs = arena_alloc(&report->arena, count * sizeof *report->runs);
    for (size_t i = 0; i < count; i++)
        report->runs[i].path = arena_strdup(&report->arena, paths[i]);
    name_runs(report);
    list_measures(report);
    list_turn_measures(report);
    int result = open_runs(report, err);
    if (result < 0) {
        report_close(report);
        return result;
    }
    compare_runs(report);
    *out = report;
    return 0;
}

void report_close(struct report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->run_count; i++)
        mem_free(report->runs[i].episodes);
    arena_deinit(&report->arena);
    mem_free(report);
}
