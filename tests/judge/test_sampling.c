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
        sampling->issue[at] = sampling->around[at] = sampling->candidate_around[at] = 0;
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
