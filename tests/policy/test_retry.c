/* When an endpoint is asked again, by a clock that moves only when the test moves it. */
#include "../support/test.h"
#include "policy/retry.h"

#define LOT_LEAST 0
#define STEPS 12

static const struct retry_rules rules = {.budget_ms = 60000, .backoff_ms = 500, .attempts = 4};

/* Without a lot each pause is half of its longest. */
TEST(schedules)
{
    static const struct {
        const char *kinds; /* u busy, b broken, n unreached, - never */
        int64_t after_ms;
        int64_t pauses[STEPS]; /* 0 ends them */
    } rows[] = {
        {"bbbb", 0, {250, 500, 1000, RETRY_STOP}},
        /* The pauses pass on the clock: these make 45750 ms, and one more would be too long. */
        {"uuuuuuuuuu", 0, {250, 500, 1000, 2000, 4000, 8000, 15000, 15000, RETRY_STOP}},
        {"uuuuuuuuuuuu", 20000, {20000, 20000, 20000, RETRY_STOP}},
        {"u", 60001, {RETRY_STOP}}, /* it asks for more than there is */
        {"nnnnnn", 0, {250, 500, 1000, RETRY_STOP}},
        {"-", 0, {RETRY_STOP}},
        {"ubububub", 0, {250, 500, 1000, 2000, 4000, 8000, 15000, RETRY_STOP}},
        {"b-", 0, {250, RETRY_STOP}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct retry retry = {0};
        int64_t now_ns = 1;
        for (size_t n = 0; rows[i].pauses[n]; n++) {
            enum retry_kind kind = rows[i].kinds[n] == 'u'   ? RETRY_BUSY
                                   : rows[i].kinds[n] == 'b' ? RETRY_BROKEN
                                   : rows[i].kinds[n] == 'n' ? RETRY_UNREACHED
                                                             : RETRY_NEVER;
            int64_t pause_ms = retry_pause_ms(&retry, &rules, kind, rows[i].after_ms, now_ns,
                                              LOT_LEAST);
            if (pause_ms != rows[i].pauses[n])
                fail_msg("row %zu, failure %zu: %lld ms", i, n, (long long)pause_ms);
            now_ns += pause_ms * 1000000;
        }
    }
}

/* Every lot between half and all of it, and on top of what the endpoint asks for. */
TEST(lots)
{
    for (int after = 0; after < 2; after++) {
        int64_t least = INT64_MAX, most = 0;
        for (uint64_t lot = 0; lot < 1000; lot++) {
            struct retry retry = {0};
            int64_t pause_ms = retry_pause_ms(&retry, &rules, RETRY_BUSY, after * 7000, 1, lot);
            least = pause_ms < least ? pause_ms : least;
            most = pause_ms > most ? pause_ms : most;
        }
        assert_int_equal(least, after ? 7000 : 250);
        assert_int_equal(most, after ? 7250 : 500);
    }
}

/* Patience counts from when the endpoint was last heard of, not from the first failure. */
TEST(budget_begins_anew)
{
    struct retry retry = {0};
    const int64_t later_ns = (int64_t)3600 * 1000000000;
    assert_true(retry_pause_ms(&retry, &rules, RETRY_BUSY, 0, 1, 0) > 0);
    assert_true(retry_pause_ms(&retry, &rules, RETRY_BROKEN, 0, later_ns, 0) > 0);
    assert_true(retry_pause_ms(&retry, &rules, RETRY_BUSY, 0, later_ns, 0) > 0);
    assert_int_equal(retry_pause_ms(&retry, &rules, RETRY_BUSY, 0, later_ns + later_ns, 0),
                     RETRY_STOP);
}
