#include "judge/measure/timing_trust.h"

#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BUDGETS_MAX 30    /* that may be spent on an interval that stays wide */
#define SLOWER_SAMPLES 3  /* with which an interval may say that a candidate is far slower */
#define STARVED_PART 0.25 /* of its calls' time, that a candidate wanted processors and had none */
#define CONTENDED_MS 0.25 /* for each pair, and */
#define CONTENDED_PART 0.25 /* of its time, that a reference waits for processors */
#define BUSY_US 25.0        /* scatter that says: something else was running */
#define BUSY_PART 0.02      /* of a call's time, that it is as well */
#define LEAST_PART 0.5      /* of the shortest overhead that was seen: less takes no call */
#define SENTENCE_BYTES 320  /* of a row, with its end */

/* Whether the candidate's calls had an overhead like the reference's: no quarter of them is shorter
 * than that alone, and a wait that some did not have is little beside what is left of either's. On
 * a machine that does something else meanwhile it may be otherwise. */
static bool overhead_is_plausible(const struct sampling *sampling)
{
    struct summary candidate;
    stats_summary(sampling->candidate, sampling->count, &candidate);
    double left_ms = fmin(stats_median(sampling->scratch, sampling->count),
                          stats_median(sampling->scratch + sampling->capacity, sampling->count));
    return candidate.quartile1 >= sampling->cost.quartile1 - SAMPLING_RESOLUTION_MS &&
           sampling_waited_ms(sampling) <= fmax(left_ms / 2, BUSY_US * 1e-3);
}

/* A reference of several threads takes longer on a busy machine than a candidate of one, which need
 * not wait for its others. On a GPU what is waited for is part of the overhead. */
static bool is_contended(const struct sampling *sampling)
{
    return !sampling->drifts && sampling->waited_ms > CONTENDED_MS &&
           sampling->waited_part > CONTENDED_PART;
}

/* --- when sampling ends ------------------------------------------------------------------------*/

static bool are_fewest(const struct timing_progress *progress)
{
    return progress->sampling->count >= (size_t)progress->settings->min_samples;
}

/* Tight for the time that it took, and of use: a machine that is too busy now may not be in a
 * moment. */
static bool is_tight(const struct timing_progress *progress)
{
    double wanted = fmin(progress->target * fmax(progress->budgets, 1), progress->settings->widest);
    return are_fewest(progress) && stats_tight(&progress->speedup, wanted) &&
           overhead_is_plausible(progress->sampling) && !is_contended(progress->sampling);
}

static bool is_spent(const struct timing_progress *progress)
{
    return are_fewest(progress) && progress->budgets > BUDGETS_MAX;
}

/* Others kept processors from it for a good part of its calls: it did not take most of them. */
static bool is_starved(const struct timing_progress *progress)
{
    const struct sampling *sampling = progress->sampling;
    double calls_ms = 0;
    for (size_t i = 0; i < sampling->count; i++)
        calls_ms += sampling->candidate[i];
    return progress->delayed_ms > calls_ms * STARVED_PART &&
           progress->used_ms * 2 < calls_ms * progress->processors;
}

static bool is_far_slower(const struct timing_progress *progress)
{
    return (are_fewest(progress) || progress->sampling->count >= SLOWER_SAMPLES) &&
           progress->budgets > 1 && progress->speedup.high * progress->settings->stop_slower < 1 &&
           !is_starved(progress);
}

enum timing_end timing_trust_end(const struct timing_progress *progress)
{
    static const struct {
        bool (*holds)(const struct timing_progress *progress);
        enum timing_end end;
    } rows[] = {
        {is_tight, TIMING_ENOUGH},
        {is_spent, TIMING_ENOUGH},
        {is_far_slower, TIMING_SLOWER},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].holds(progress))
            return rows[i].end;
    return TIMING_GOES_ON;
}

/* --- what a case's time is worth ---------------------------------------------------------------*/

/* The benefit of every doubt: the shortest overhead is taken off here, and nothing if even that
 * took longer than a whole call, because then something else was running. */
static bool is_too_fast(const struct timing_facts *facts, char *sentence)
{
    const struct sampling *sampling = facts->sampling;
    struct summary raw;
    stats_summary(sampling->candidate, sampling->count, &raw);
    double cost_ms = sampling->cost.min < raw.min ? sampling->cost.min : 0;
    double at_most_ms = raw.median - cost_ms + SAMPLING_RESOLUTION_MS;
    snprintf(sentence, SENTENCE_BYTES,
             "its median of %.6f ms is below the %.6f ms that this machine needs at the very least "
             "for the problem's bytes and operations",
             at_most_ms, facts->timed->floor_ms);
    return !(at_most_ms >= facts->timed->floor_ms);
}

/* A busy machine does that in one of hundreds. */
static bool was_continued(const struct timing_facts *facts, char *sentence)
{
    const struct sampling *sampling = facts->sampling;
    snprintf(sentence, SENTENCE_BYTES,
             "something continued it while it was stopped: it ran before %zu of %zu timed calls, "
             "for up to %.3f ms",
             sampling->ahead, sampling->count, sampling->most_ahead_ms);
    return sampling->ahead * 2 > sampling->count;
}

static double scatter_us(const struct timing_facts *facts)
{
    const struct summary *cost = &facts->sampling->cost;
    return (cost->quartile3 - cost->quartile1) * 1e3;
}

/* Beside a steady reference this is no chance: a call has to be received and answered. Not on a
 * GPU, where part of the overhead is the start of the reference's own kernels. */
static bool is_shorter_than_any(const struct timing_facts *facts, char *sentence)
{
    const struct sampling *sampling = facts->sampling;
    struct summary candidate;
    stats_summary(sampling->candidate, sampling->count, &candidate);
    snprintf(sentence, SENTENCE_BYTES,
             "three of four of its calls took %.3g us or less from the message that makes it to "
             "the answer; without its work a call of the reference takes at least %.3g us",
             candidate.quartile3 * 1e3, sampling->cost.min * 1e3);
    return !sampling->drifts && scatter_us(facts) <= BUSY_US &&
           candidate.quartile3 < sampling->cost.min * LEAST_PART;
}

static bool is_implausible(const struct timing_facts *facts, char *sentence)
{
    snprintf(sentence, SENTENCE_BYTES,
             "the machine was too busy to time it: the dispatch overhead took too long, or varied");
    return !overhead_is_plausible(facts->sampling);
}

static bool was_contended(const struct timing_facts *facts, char *sentence)
{
    snprintf(sentence, SENTENCE_BYTES,
             "other programs had the processors: for %.0f %% of its time the reference waited for "
             "them",
             facts->sampling->waited_part * 100);
    return !facts->sampling->slower && is_contended(facts->sampling);
}

static bool was_busy(const struct timing_facts *facts, char *sentence)
{
    snprintf(sentence, SENTENCE_BYTES,
             "the machine was busy while this was timed: expect it to scatter");
    return scatter_us(facts) > BUSY_US &&
           scatter_us(facts) > facts->timed->candidate.median * 1e3 * BUSY_PART;
}

static bool ended_early(const struct timing_facts *facts, char *sentence)
{
    snprintf(sentence, SENTENCE_BYTES,
             "sampling ended after %zu pairs: all of the interval says that it is more than %g "
             "times slower than the reference (timing.stop_slower)",
             facts->sampling->count, facts->settings->stop_slower);
    return facts->sampling->slower;
}

/* All the time that there was has been spent on it. However wide: it is far slower. */
static bool is_below_scatter(const struct timing_facts *facts, char *sentence)
{
    double call_us = facts->timed->candidate.median * 1e3;
    snprintf(sentence, SENTENCE_BYTES,
             "the dispatch overhead scatters by %.3g us, more than the %.3g us that a call takes",
             scatter_us(facts), call_us);
    return !facts->sampling->slower && scatter_us(facts) > call_us;
}

static bool is_wide(const struct timing_facts *facts, char *sentence)
{
    const struct interval *speedup = &facts->timed->speedup;
    snprintf(sentence, SENTENCE_BYTES,
             "after %zu pairs its speedup is somewhere between %.3g and %.3g: wider than "
             "timing.widest allows",
             facts->sampling->count, speedup->low, speedup->high);
    return !facts->sampling->slower && !stats_tight(speedup, facts->settings->widest);
}

enum doubt { VIOLATION, NOT_MEANINGFUL, NOTE };

/* Only behind a note further rows are tried. */
static const struct {
    enum doubt doubt;
    const char *code; /* of a violation */
    bool (*holds)(const struct timing_facts *facts, char *sentence);
} doubts[] = {
    {VIOLATION, "H28", is_too_fast},
    {VIOLATION, "H27", was_continued},
    {VIOLATION, "H27", is_shorter_than_any},
    {NOT_MEANINGFUL, NULL, is_implausible},
    {NOTE, NULL, was_busy},
    {NOTE, NULL, ended_early},
    {NOT_MEANINGFUL, NULL, is_below_scatter},
    {NOT_MEANINGFUL, NULL, is_wide},
    {NOT_MEANINGFUL, NULL, was_contended},
};

/* In front of what other cases and rows say. */
static void add_note(struct verdict *verdict, const char *sentence)
{
    const char *other = verdict->timing_note;
    if (!other || !strstr(other, sentence))
        verdict->timing_note = arena_printf(&verdict->arena, "%s%s%s", sentence, other ? "; " : "",
                                            other ? other : "");
}

int timing_trust_case(const struct timing_facts *facts, struct verdict *verdict)
{
    char sentence[SENTENCE_BYTES];
    for (size_t i = 0; i < COUNT(doubts); i++) {
        if (!doubts[i].holds(facts, sentence))
            continue;
        if (doubts[i].doubt == VIOLATION) {
            verdict_violation(verdict, doubts[i].code, "%s", sentence);
            return -1;
        }
        if (doubts[i].doubt == NOTE) {
            add_note(verdict, sentence);
            continue;
        }
        verdict->timing_meaningful = false;
        verdict->timing_note = arena_strdup(&verdict->arena, sentence);
        return 0;
    }
    return 0;
}
