#include "../support/test.h"
#include "base/random.h"
#include "server/http/timers.h"

#include <stdlib.h>

#define MANY 300

TEST(order)
{
    struct http_timers timers;
    struct http_timer many[MANY];
    int64_t next_ns, last_ns = -1;
    http_timers_init(&timers);
    for (size_t i = 0; i < MANY; i++) {
        http_timer_init(&many[i]);
        int64_t due_ns = (int64_t)(i * 7919 % MANY);
        bool first = http_timers_set(&timers, &many[i], due_ns);
        assert_int_equal(first, timers.heap[0] == &many[i]);
    }
    assert_null(http_timers_pop(&timers, -1, &next_ns));
    assert_int_equal(next_ns, 0);
    for (size_t i = 0; i < MANY; i++) {
        struct http_timer *timer = http_timers_pop(&timers, MANY, &next_ns);
        assert_non_null(timer);
        assert_true(timer->due_ns > last_ns);
        last_ns = timer->due_ns;
    }
    assert_null(http_timers_pop(&timers, MANY, &next_ns));
    assert_int_equal(next_ns, HTTP_TIMER_NEVER);
    http_timers_deinit(&timers);
}

/* Later: only the old time finds out. Earlier: at once. Never, and removed: not at all. */
TEST(moved)
{
    struct http_timers timers;
    struct http_timer a, b;
    int64_t next_ns;
    http_timers_init(&timers);
    http_timer_init(&a);
    http_timer_init(&b);
    assert_true(http_timers_set(&timers, &a, 10));
    assert_false(http_timers_set(&timers, &b, 20));
    assert_false(http_timers_set(&timers, &a, 30));
    assert_null(http_timers_pop(&timers, 10, &next_ns));
    assert_int_equal(next_ns, 20);
    assert_true(http_timers_set(&timers, &a, 5));
    assert_ptr_equal(http_timers_pop(&timers, 5, &next_ns), &a);
    assert_false(http_timers_set(&timers, &b, HTTP_TIMER_NEVER));
    assert_null(http_timers_pop(&timers, 1000, &next_ns));
    assert_int_equal(next_ns, HTTP_TIMER_NEVER);
    assert_true(http_timers_set(&timers, &b, 40));
    http_timers_remove(&timers, &b);
    http_timers_remove(&timers, &b);
    assert_null(http_timers_pop(&timers, 1000, &next_ns));
    assert_true(http_timers_set(&timers, &a, 50)); /* popped ones can be set again */
    assert_ptr_equal(http_timers_pop(&timers, 50, &next_ns), &a);
    http_timers_deinit(&timers);
}

/* Against a plain list: the earliest of all comes first whatever was moved and removed. */
TEST(against_list)
{
    struct http_timers timers;
    struct http_timer many[MANY];
    uint64_t seed = 1;
    http_timers_init(&timers);
    for (size_t i = 0; i < MANY; i++)
        http_timer_init(&many[i]);
    for (int64_t now_ns = 0; now_ns < 20000; now_ns++) {
        int64_t next_ns;
        const uint64_t random = random_next(&seed);
        struct http_timer *moved = &many[(random >> 33) % MANY];
        if ((random >> 60) == 0)
            http_timers_remove(&timers, moved);
        else
            http_timers_set(&timers, moved, now_ns + (int64_t)((random >> 20) % 500));
        int64_t earliest_ns = HTTP_TIMER_NEVER;
        for (size_t i = 0; i < MANY; i++)
            earliest_ns = many[i].due_ns < earliest_ns ? many[i].due_ns : earliest_ns;
        struct http_timer *popped = http_timers_pop(&timers, now_ns, &next_ns);
        assert_int_equal(popped != NULL, earliest_ns <= now_ns);
        if (popped)
            popped->due_ns = HTTP_TIMER_NEVER; /* what its user does */
    }
    http_timers_deinit(&timers);
}
