#include "gym/report/metrics.h"

#include <math.h>
#include <string.h>

static const char *const own_names[] = {
    [GYM_NO_CODE - STATUS_COUNT] = "no_code",
    [GYM_UNKNOWN - STATUS_COUNT] = "unknown",
    [GYM_OVER - STATUS_COUNT] = "over",
    [GYM_MISSING - STATUS_COUNT] = "missing",
};

const char *gym_status_name(int status)
{
    return status < STATUS_COUNT ? verdict_status_name((enum verdict_status)status)
                                 : own_names[status - STATUS_COUNT];
}

int gym_status_of(const char *name)
{
    for (int status = 0; status < GYM_OVER; status++)
        if (strcmp(gym_status_name(status), name) == 0)
            return status;
    return GYM_UNKNOWN;
}

double gym_best(const struct gym_sample *sample, size_t turns)
{
    double best = -1;
    for (size_t i = 0; i < sample->turn_count && i < turns; i++) {
        const struct gym_turn *turn = &sample->turns[i];
        if (turn->correct && !turn->excluded)
            best = fmax(best, fmax(turn->speedup, 0));
    }
    return best;
}

double gym_best_sample(const struct gym_problem *problem, size_t *correct)
{
    double best = -1;
    *correct = 0;
    for (size_t i = 0; i < problem->sample_count; i++) {
        double speedup = gym_best(&problem->samples[i], GYM_ALL_TURNS);
        best = fmax(best, speedup);
        *correct += speedup >= 0;
    }
    return best;
}

bool gym_is_lost(const struct gym_sample *sample)
{
    for (size_t i = 0; i < sample->turn_count; i++)
        if (!sample->turns[i].excluded)
            return false;
    return true;
}

double gym_pass_at_k(size_t n, size_t c, size_t k)
{
    if (k == 0 || k > n || c > n)
        return NAN;
    /* C(n-c, k) / C(n, k) as a product of k factors below one: nothing overflows. */
    double none = 1;
    for (size_t i = 0; i < k; i++)
        none *= n - c > i ? (double)(n - c - i) / (double)(n - i) : 0;
    return 1 - none;
}

/* The samples in a denominator. */
static size_t counts_sample(const struct gym_measure *measure, const struct gym_problem *problem)
{
    size_t lost = 0;
    if (!measure->judged)
        return problem->asked;
    for (size_t i = 0; i < problem->sample_count; i++)
        lost += gym_is_lost(&problem->samples[i]);
    return problem->sample_count - lost;
}

/* KernelBench's comparison: exactly p times as fast is not enough. */
static bool is_faster(double best, double p)
{
    return p > 0 ? best > p : best >= 0;
}

static size_t reaches(const struct gym_problem *problem, double p, size_t turns)
{
    size_t count = 0;
    for (size_t i = 0; i < problem->sample_count; i++)
        count += is_faster(gym_best(&problem->samples[i], turns), p);
    return count;
}

static struct gym_term fast_problems(const struct gym_measure *measure,
                                     const struct gym_problem *problem)
{
    return (struct gym_term){reaches(problem, measure->p, GYM_ALL_TURNS) > 0,
                             counts_sample(measure, problem) > 0};
}

static struct gym_term fast_samples(const struct gym_measure *measure,
                                    const struct gym_problem *problem)
{
    return (struct gym_term){(double)reaches(problem, measure->p, GYM_ALL_TURNS),
                             (double)counts_sample(measure, problem)};
}

/* Sample 0's; -1: there is none, or it is not correct. */
static double first_sample(const struct gym_problem *problem)
{
    bool there = problem->sample_count > 0 && problem->samples[0].number == 0;
    return there ? gym_best(&problem->samples[0], GYM_ALL_TURNS) : -1;
}

static struct gym_term fast_first(const struct gym_measure *measure,
                                  const struct gym_problem *problem)
{
    return (struct gym_term){is_faster(first_sample(problem), measure->p), 1};
}

static struct gym_term pass_term(const struct gym_measure *measure,
                                 const struct gym_problem *problem)
{
    size_t n = counts_sample(measure, problem);
    double value = gym_pass_at_k(n, reaches(problem, measure->p, GYM_ALL_TURNS), measure->k);
    /* Only judged samples may be too few; a requested problem must not be skipped. */
    return measure->judged && n < measure->k ? (struct gym_term){0, 0}
                                             : (struct gym_term){value, 1};
}

static struct gym_term speedup_solved(const struct gym_measure *measure,
                                      const struct gym_problem *problem)
{
    size_t correct;
    double best = gym_best_sample(problem, &correct);
    return best > 0 ? (struct gym_term){log(best), 1} : (struct gym_term){0, 0};
}

static struct gym_term speedup_first(const struct gym_measure *measure,
                                     const struct gym_problem *problem)
{
    double first = first_sample(problem);
    return first > 0 ? (struct gym_term){log(first), 1} : (struct gym_term){0, 0};
}

static struct gym_term speedup_all(const struct gym_measure *measure,
                                   const struct gym_problem *problem)
{
    size_t correct;
    return (struct gym_term){log(fmax(gym_best_sample(problem, &correct), 1)),
                             counts_sample(measure, problem) > 0};
}

static struct gym_term mean_return(const struct gym_measure *measure,
                                   const struct gym_problem *problem)
{
    struct gym_term term = {0, 0};
    for (size_t i = 0; i < problem->sample_count; i++) {
        if (gym_is_lost(&problem->samples[i]) || isnan(problem->samples[i].first_return))
            continue;
        term.over += problem->samples[i].first_return;
        term.under++;
    }
    return term;
}

/* A turn's contribution to a rate over turns. */
static double turn_value(enum gym_measure_kind kind, const struct gym_turn *turn)
{
    switch (kind) {
    case GYM_FORMAT:
        return turn->format_ok;
    case GYM_COMPILED:
        return turn->compiled;
    case GYM_CORRECT:
        return turn->correct;
    case GYM_VIOLATION:
        return turn->cheated;
    default:
        return turn->reward;
    }
}

static struct gym_term over_turns(const struct gym_measure *measure,
                                  const struct gym_problem *problem)
{
    struct gym_term term = {0, 0};
    bool all = measure->turn == GYM_ALL_TURNS;
    for (size_t i = 0; i < problem->sample_count; i++) {
        const struct gym_sample *sample = &problem->samples[i];
        size_t end = all || measure->turn >= sample->turn_count ? sample->turn_count
                                                                : measure->turn + 1;
        for (size_t t = all ? 0 : measure->turn; t < end; t++) {
            double value = turn_value(measure->kind, &sample->turns[t]);
            if (sample->turns[t].excluded || isnan(value))
                continue;
            term.over += value;
            term.under++;
        }
    }
    return term;
}

static struct gym_term at_turn(const struct gym_measure *measure, const struct gym_problem *problem)
{
    struct gym_term term = {0, (double)counts_sample(measure, problem)};
    for (size_t i = 0; i < problem->sample_count; i++) {
        const struct gym_sample *sample = &problem->samples[i];
        if (measure->turn >= sample->turn_count)
            continue;
        struct gym_sample alone = {.turns = &sample->turns[measure->turn], .turn_count = 1};
        term.over += is_faster(gym_best(&alone, 1), measure->p);
    }
    return term;
}

static struct gym_term by_turn(const struct gym_measure *measure, const struct gym_problem *problem)
{
    size_t turns = measure->turn == GYM_ALL_TURNS ? measure->turn : measure->turn + 1;
    return (struct gym_term){(double)reaches(problem, measure->p, turns),
                             (double)counts_sample(measure, problem)};
}

const struct gym_measure_row gym_measures[GYM_MEASURE_COUNT] = {
    [GYM_FAST_PROBLEMS] = {"fast_p_problems", NULL, "problems", GYM_SHARE, true, fast_problems,
                           "problems with a sample that is correct and more than p times as fast"},
    [GYM_FAST_SAMPLES] = {"fast_p_samples", NULL, "samples", GYM_SHARE, true, fast_samples,
                          "samples with a turn that is correct and more than p times as fast"},
    [GYM_FAST_FIRST] = {"fast_p_first", NULL, "problems", GYM_SHARE, true, fast_first,
                        "problems whose sample 0 is correct and more than p times as fast"},
    [GYM_PASS] = {"pass_at_k", NULL, "problems", GYM_SHARE, true, pass_term,
                  "probability that one of k samples is correct and more than p times as fast"},
    [GYM_SPEEDUP_SOLVED] = {"speedup_solved", "speedup, solved", "problems", GYM_RATIO, false,
                            speedup_solved,
                            "geometric mean of the problems' best speedups, of those correct and "
                            "timed"},
    [GYM_SPEEDUP_ALL] = {"speedup_all", "speedup, all", "problems", GYM_RATIO, false, speedup_all,
                         "the same over all problems; one without an answer faster than 1x counts "
                         "as 1x"},
    [GYM_SPEEDUP_FIRST] = {"speedup_first", "speedup, sample 0", "problems", GYM_RATIO, false,
                           speedup_first,
                           "geometric mean of the speedups of sample 0, of those correct and "
                           "timed"},
    [GYM_RETURN] = {"return", "return", "samples", GYM_MEAN, false, mean_return,
                    "mean return of the first turn"},
    [GYM_REWARD] = {"reward", "reward", "turns", GYM_MEAN, false, over_turns,
                    "mean reward of a turn"},
    [GYM_FORMAT] = {"format_rate", "format", "turns", GYM_SHARE, false, over_turns,
                    "turns with code in the asked form"},
    [GYM_COMPILED] = {"compile_rate", "compiled", "turns", GYM_SHARE, false, over_turns,
                      "turns that compile"},
    [GYM_CORRECT] = {"correct_rate", "correct", "turns", GYM_SHARE, false, over_turns,
                     "turns that are correct"},
    [GYM_VIOLATION] = {"violation_rate", "violation", "turns", GYM_SHARE, false, over_turns,
                       "turns that cheat"},
    [GYM_AT_TURN] = {"at_turn", NULL, "samples", GYM_SHARE, true, at_turn,
                     "samples whose turn of this number is correct and more than p times as fast"},
    [GYM_BY_TURN] = {"best_by_turn", NULL, "samples", GYM_SHARE, true, by_turn,
                     "samples with a turn up to this one that is correct and more than p times as "
                     "fast"},
};

struct gym_term gym_term(const struct gym_measure *measure, const struct gym_problem *problem)
{
    return gym_measures[measure->kind].term(measure, problem);
}

static size_t *change_of(struct gym_changes *changes, const struct gym_turn *before,
                         const struct gym_turn *after)
{
    if (before->correct != after->correct)
        return after->correct ? &changes->fixed : &changes->broken;
    if (!after->correct)
        return &changes->still_wrong;
    if (before->speedup <= 0 || after->speedup <= 0)
        return &changes->same;
    if (after->speedup_low > before->speedup_high)
        return &changes->faster;
    return after->speedup_high < before->speedup_low ? &changes->slower : &changes->same;
}

void gym_changes_add(struct gym_changes *changes, const struct gym_sample *sample)
{
    const struct gym_turn *first = NULL, *last = NULL;
    for (size_t i = 0; i < sample->turn_count; i++) {
        const struct gym_turn *turn = &sample->turns[i];
        if (turn->excluded)
            continue;
        if (last)
            ++*change_of(changes, last, turn);
        first = first ? first : turn;
        last = turn;
    }
    if (!first)
        return;
    changes->first_correct += first->correct;
    changes->last_correct += last->correct;
    changes->improved += !first->correct && last->correct;
    changes->regressed += first->correct && !last->correct;
}
