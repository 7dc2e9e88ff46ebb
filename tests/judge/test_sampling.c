#include "../support/test.h"
#include "judge/measure/sampling.h"

#define OVERHEAD_MS 0.1

/* The reference's own times, one pair after the other; what the candidate takes says which pair it
 * is. */
static void sample(struct sampling *sampling, const double *own_ms, size_t pairs, bool drifts)
{
    sampling_init(sampling, pairs);
    sampling->drifts = drifts;
    for (size_t i = 0; i < pairs; i++) {
        size_t at = sampling->count++;
        sampling->reference[at] = own_ms[i] + OVERHEAD_MS;
        sampling->overhead[at] = OVERHEAD_MS;
        sampling->candidate[at] = (double)i;
        sampling->issue[at] = 0;
        for (int kind = 0; kind < SAMPLING_AROUND; kind++)
            sampling->around[kind][at] = sampling->candidate_around[kind][at] = 0;
        sampling->candidate_first[at] = i % 2;
        sampling_settle(sampling);
        sampling->ahead++;
    }
}

static const struct {
    const char *name;
    double own_ms[6];
    bool drifts;
    size_t from; /* the first pair that stays */
} rows[] = {
    {"as fast from the first", {1, 1.1, 0.9, 1, 1.2, 0.95}, true, 0},
    {"clocks rise", {3, 2.4, 1.9, 1.4, 1.05, 1}, true, 4},
    {"they rise slowly", {1, 0.99, 0.98, 0.97, 0.96, 0.95}, true, 0},
    {"it becomes slower", {1, 1, 1, 3, 3, 3}, true, 0},
    {"one was slow", {1, 3, 1, 1, 1, 1}, true, 0},
    {"the first was slow", {3, 1, 1, 1, 1, 1}, true, 1},
    {"on a CPU", {3, 1, 1, 1, 1, 1}, false, 0},
};

TEST(pairs_before_the_clocks_are_up_do_not_count)
{
    enum { PAIRS = sizeof rows->own_ms / sizeof *rows->own_ms };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sampling sampling;
        print_message("%s\n", rows[i].name);
        sample(&sampling, rows[i].own_ms, PAIRS, rows[i].drifts);
        assert_int_equal(sampling.count, PAIRS - rows[i].from);
        for (size_t at = 0; at < sampling.count; at++) {
            assert_int_equal((size_t)sampling.candidate[at], rows[i].from + at);
            assert_int_equal(sampling.candidate_first[at], (rows[i].from + at) % 2);
        }
        assert_int_equal(sampling.ahead, sampling.count);
        sampling_deinit(&sampling);
    }
}

/* Each row: what samples and the stop took the reference and the candidate, and what that adds to
 * the candidate's time. */
static const struct {
    const char *name;
    double reference_ms[2], candidate_ms[2], late_ms;
} arounds[] = {
    {"alike", {0.08, 0.2}, {0.08, 0.2}, 0},
    {"it stops sooner", {0.08, 0.2}, {0.08, 0.1}, 0},
    {"its samples wait", {0.08, 0.2}, {0.18, 0.2}, 0.1},
    {"its samples wait, and it stops sooner", {0.08, 0.2}, {0.18, 0.1}, 0.1},
    {"it stops late", {0.08, 0.2}, {0.08, 0.5}, 0.3},
    {"both", {0.08, 0.2}, {0.18, 0.5}, 0.4},
};

TEST(what_takes_longer_around_a_call_is_the_candidates)
{
    static const double own_ms[] = {1, 1, 1, 1};
    enum { PAIRS = sizeof own_ms / sizeof *own_ms };
    for (size_t i = 0; i < sizeof arounds / sizeof *arounds; i++) {
        struct sampling sampling;
        const double *reference;
        const double *candidate;
        print_message("%s\n", arounds[i].name);
        sample(&sampling, own_ms, PAIRS, false);
        for (size_t at = 0; at < PAIRS; at++) {
            sampling.candidate[at] = 1 + OVERHEAD_MS;
            for (int kind = AROUND_SAMPLES; kind <= AROUND_STOP; kind++) {
                int column = kind - AROUND_SAMPLES;
                sampling.around[kind][at] = arounds[i].reference_ms[column];
                sampling.candidate_around[kind][at] = arounds[i].candidate_ms[column];
            }
        }
        sampling_take_off(&sampling, &reference, &candidate);
        for (size_t at = 0; at < PAIRS; at++) {
            assert_float_equal(reference[at], 1, 1e-9);
            assert_float_equal(candidate[at], 1 + arounds[i].late_ms, 1e-9);
        }
        sampling_deinit(&sampling);
    }
}
