/* Which samples suffice, and what a timed case is worth: every row of both tables, where it holds
 * and right beside where it does not. */
#include "judge/measure/timing_trust.h"

#include "../support/test.h"

#define PAIRS 10

static const struct timing_settings settings = {.widest = 0.25,
                                                .min_samples = 5,
                                                .max_samples = PAIRS,
                                                .stop_slower = 10};

/* Every other call has `step_ms` more of overhead. */
static void take_samples(struct sampling *sampling, size_t count, double overhead_ms,
                         double step_ms, double candidate_ms)
{
    const double *ignored[2];
    bool least = sampling->least, drifts = sampling->drifts;
    sampling_init(sampling, PAIRS);
    sampling->least = least;
    sampling->drifts = drifts;
    sampling->count = count;
    for (size_t i = 0; i < count; i++) {
        sampling->overhead[i] = overhead_ms + (i % 2 ? step_ms : 0);
        sampling->reference[i] = candidate_ms + 1;
        sampling->candidate[i] = candidate_ms;
        sampling->candidate_first[i] = i / 2 % 2;
    }
    sampling_take_off(sampling, &ignored[0], &ignored[1]);
}

TEST(ends)
{
    static const struct {
        const char *what;
        size_t count;
        double budgets, low, high, overhead_ms;
        enum timing_end end;
        double delayed_ms, used_ms; /* of calls that take 1.53 ms, on two processors */
        double waited;              /* the reference, in ms for each pair and as a part */
    } rows[] = {
        {"tight", 5, 0.1, 1.99, 2.01, 0.01, TIMING_ENOUGH, 0, 0, 0},
        {"tight, but too few", 4, 0.1, 1.99, 2.01, 0.01, TIMING_GOES_ON, 0, 0, 0},
        {"tight, but not plausible", 5, 0.1, 1.99, 2.01, 0.6, TIMING_GOES_ON, 0, 0, 0},
        {"tight, but contended", 5, 0.1, 1.99, 2.01, 0.01, TIMING_GOES_ON, 0, 0, 0.5},
        {"not tight yet", 5, 0.5, 1.9, 2.1, 0.01, TIMING_GOES_ON, 0, 0, 0},
        {"tight for so many budgets", 5, 3, 1.9, 2.1, 0.01, TIMING_ENOUGH, 0, 0, 0},
        {"never as wide as that", 9, 29, 1, 3, 0.01, TIMING_GOES_ON, 0, 0, 0},
        {"spent", 9, 31, 1, 3, 0.01, TIMING_ENOUGH, 0, 0, 0},
        {"spent, but too few", 4, 31, 1, 3, 0.01, TIMING_GOES_ON, 0, 0, 0},
        {"far slower", 3, 1.1, 0.01, 0.09, 0.01, TIMING_SLOWER, 0, 0, 0},
        {"far slower, but too few", 2, 1.1, 0.01, 0.09, 0.01, TIMING_GOES_ON, 0, 0, 0},
        {"far slower, but soon", 3, 0.9, 0.01, 0.09, 0.01, TIMING_GOES_ON, 0, 0, 0},
        {"perhaps not far slower", 3, 1.1, 0.01, 0.11, 0.01, TIMING_GOES_ON, 0, 0, 0},
        {"far slower, and starved", 3, 1.1, 0.01, 0.09, 0.01, TIMING_GOES_ON, 0.4, 1.5, 0},
        {"far slower, and hardly delayed", 3, 1.1, 0.01, 0.09, 0.01, TIMING_SLOWER, 0.3, 1.5, 0},
        {"far slower, by many threads", 3, 1.1, 0.01, 0.09, 0.01, TIMING_SLOWER, 9, 1.6, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sampling sampling = {0};
        struct timing_progress progress = {
            .sampling = &sampling,
            .settings = &settings,
            .speedup = {.value = (rows[i].low + rows[i].high) / 2,
                        .low = rows[i].low,
                        .high = rows[i].high,
                        .n = rows[i].count},
            .target = 0.02,
            .budgets = rows[i].budgets,
            .delayed_ms = rows[i].delayed_ms,
            .used_ms = rows[i].used_ms,
            .processors = 2,
        };
        take_samples(&sampling, rows[i].count, rows[i].overhead_ms, 0, 0.51);
        sampling.waited_ms = sampling.waited_part = rows[i].waited;
        if (timing_trust_end(&progress) != rows[i].end)
            fail_msg("%s: %d", rows[i].what, timing_trust_end(&progress));
        sampling_deinit(&sampling);
    }
}

#define TOO_BUSY                                                                                   \
    "the machine was too busy to time it: the dispatch overhead took too long, or varied"
#define BUSY "the machine was busy while this was timed: expect it to scatter"
#define CONTENDED                                                                                  \
    "other programs had the processors: for 26 % of its time the reference waited for them"
#define TOO_FAST                                                                                   \
    "its median of 0.501000 ms is below the 0.502000 ms that this machine needs at the very "      \
    "least for the problem's bytes and operations"
#define ENDED                                                                                      \
    "sampling ended after 10 pairs: all of the interval says that it is more than 10 times "       \
    "slower than the reference (timing.stop_slower)"

/* Of a case; what is 0 is as in the first row. */
static const struct row {
    const char *what;
    double overhead_ms, step_ms, candidate_ms, floor_ms;
    size_t ahead;
    bool least, slower, drifts;
    double low, high; /* of the speedup */
    double waited_ms, waited_part;
    const char *code; /* of a violation; NULL: none */
    bool meaningless;
    const char *says; /* the evidence or the note; NULL: none */
} cases[] = {
    {"quiet", 0.01, 0, 0.51, 0.01, 0, false, false, false, 1.9, 2.1, 0, 0, NULL, false, NULL},
    {"as fast as can be", .floor_ms = 0.5005},
    {"too fast", .floor_ms = 0.502, .code = "H28", .says = TOO_FAST},
    {"an overhead above the call", .overhead_ms = 0.6, .floor_ms = 0.505, .meaningless = true,
     .says = TOO_BUSY},
    {"less than half an overhead", .overhead_ms = 1.1, .floor_ms = 0.5, .code = "H27",
     .says = "three of four of its calls took 510 us or less from the message that makes it to the "
             "answer; without its work a call of the reference takes at least 1.1e+03 us"},
    {"the same on a GPU", .overhead_ms = 1.1, .floor_ms = 0.5, .drifts = true, .meaningless = true,
     .says = TOO_BUSY},
    {"the same beside a reference that is not steady", .overhead_ms = 1.1, .step_ms = 0.03,
     .floor_ms = 0.5, .meaningless = true, .says = TOO_BUSY},
    {"it ran ahead at times", .ahead = 5},
    {"it ran ahead mostly", .ahead = 6, .code = "H27",
     .says = "something continued it while it was stopped: it ran before 6 of 10 timed calls, for "
             "up to 0.250 ms"},
    {"too fast, and it ran ahead", .floor_ms = 0.502, .ahead = 6, .code = "H28", .says = TOO_FAST},
    {"it waited", .step_ms = 0.45, .meaningless = true, .says = TOO_BUSY},
    {"it waited, and the least is taken off", .step_ms = 0.45, .least = true, .says = BUSY},
    {"a little busy", .step_ms = 0.02},
    {"busy", .step_ms = 0.03, .says = BUSY},
    {"busy, for a long call", .step_ms = 0.03, .candidate_ms = 5.01},
    {"far slower, and wide", .slower = true, .low = 0.01, .high = 0.05, .says = ENDED},
    {"far slower, and busy", .step_ms = 0.03, .slower = true, .says = ENDED "; " BUSY},
    {"a call below the scatter", .step_ms = 0.04, .candidate_ms = 0.05, .meaningless = true,
     .says = "the dispatch overhead scatters by 40 us, more than the 20 us that a call takes"},
    {"a call above the scatter", .step_ms = 0.04, .candidate_ms = 0.08, .says = BUSY},
    {"wide", .low = 1, .high = 3, .meaningless = true,
     .says = "after 10 pairs its speedup is somewhere between 1 and 3: wider than timing.widest "
             "allows"},
    {"others have the processors", .waited_ms = 0.26, .waited_part = 0.26, .meaningless = true,
     .says = CONTENDED},
    {"they have them for moments", .waited_ms = 0.24, .waited_part = 0.9},
    {"they have them for a small part", .waited_ms = 9, .waited_part = 0.24},
    {"they have them, of a GPU's host", .waited_ms = 9, .waited_part = 0.9, .drifts = true},
    {"they have them, and it is far slower", .waited_ms = 9, .waited_part = 0.9, .slower = true,
     .low = 0.01, .high = 0.05, .says = ENDED},
    {"not as wide", .low = 1.6, .high = 2.4},
    {"wide and busy", .step_ms = 0.03, .low = 1, .high = 3, .meaningless = true,
     .says = "after 10 pairs its speedup is somewhere between 1 and 3: wider than timing.widest "
             "allows"},
};

static double or_quiet(double value, double quiet)
{
    return value != 0 ? value : quiet;
}

static int judge_row(const struct row *row, struct verdict *verdict)
{
    const struct row *quiet = &cases[0];
    struct sampling sampling = {.least = row->least, .drifts = row->drifts};
    struct timed_case timed = {.floor_ms = or_quiet(row->floor_ms, quiet->floor_ms)};
    take_samples(&sampling, PAIRS, or_quiet(row->overhead_ms, quiet->overhead_ms), row->step_ms,
                 or_quiet(row->candidate_ms, quiet->candidate_ms));
    sampling.ahead = row->ahead;
    sampling.most_ahead_ms = 0.25;
    sampling.slower = row->slower;
    sampling.waited_ms = row->waited_ms;
    sampling.waited_part = row->waited_part;
    stats_summary(sampling.scratch + PAIRS, PAIRS, &timed.candidate);
    timed.speedup.low = or_quiet(row->low, quiet->low);
    timed.speedup.high = or_quiet(row->high, quiet->high);
    timed.speedup.value = (timed.speedup.low + timed.speedup.high) / 2;
    timed.speedup.n = PAIRS;
    const struct timing_facts facts = {&sampling, &settings, &timed};
    int result = timing_trust_case(&facts, verdict);
    sampling_deinit(&sampling);
    return result;
}

static bool same(const char *text, const char *wanted)
{
    return wanted ? text && strcmp(text, wanted) == 0 : !text;
}

TEST(worth)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct row *row = &cases[i];
        struct verdict verdict;
        verdict_init(&verdict);
        int result = judge_row(row, &verdict);
        const struct finding *found = verdict.violation_count ? &verdict.violations[0] : NULL;
        const char *code = found ? found->code : NULL;
        const char *says = found ? found->evidence : verdict.timing_note;
        if (result != (row->code ? -1 : 0) || !same(code, row->code) ||
            verdict.timing_meaningful == row->meaningless || !same(says, row->says))
            fail_msg("%s: %d, %s, %s", row->what, result, code ? code : "no violation",
                     says ? says : "no note");
        verdict_deinit(&verdict);
    }
}

/* A later case's note does not hide why an earlier case's time means nothing, and is there once. */
TEST(two_cases)
{
    const struct row busy = {.step_ms = 0.03};
    const struct row wide = {.low = 1, .high = 3};
    struct verdict verdict;
    verdict_init(&verdict);
    assert_int_equal(judge_row(&wide, &verdict), 0);
    char *reason = support_text("%s; %s", BUSY, verdict.timing_note);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(judge_row(&busy, &verdict), 0);
        assert_false(verdict.timing_meaningful);
        assert_string_equal(verdict.timing_note, reason);
    }
    verdict_deinit(&verdict);
}
