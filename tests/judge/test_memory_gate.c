/* Which evaluations wait, and in which order; memory is a number of the test. */
#include "judge/gpu/memory_gate.h"

#include "../support/test.h"
#include "base/clock.h"

#include <pthread.h>
#include <unistd.h>

#define GIB ((uint64_t)1 << 30)
#define OTHERS 8
#define TIMEOUT_MS 20000

static _Atomic uint64_t free_bytes;
static struct memory_gate gate;

static uint64_t available(void)
{
    return free_bytes;
}

FIXTURE(setup)
{
    (void)state;
    free_bytes = 20 * GIB;
    memory_gate_init(&gate, available);
    return 0;
}

FIXTURE(teardown)
{
    (void)state;
    memory_gate_deinit(&gate);
    return 0;
}

TEST_EACH(setup, teardown);

static struct memory_pass enter(uint64_t bytes)
{
    struct memory_pass pass = {0};
    assert_int_equal(memory_gate_take(&gate, bytes, &pass, NULL, NULL), 0);
    assert_true(pass.inside);
    return pass;
}

/* Whether it would have to wait. */
static bool waits(uint64_t bytes)
{
    _Atomic int cancelled = 1;
    struct memory_pass pass = {0};
    struct err err = {0};
    int result = memory_gate_take(&gate, bytes, &pass, &cancelled, &err);
    assert_int_equal(result, pass.inside ? 0 : ERR_CANCELLED);
    memory_gate_give(&gate, &pass);
    return result < 0;
}

TEST(what_fits)
{
    struct memory_pass none = {0};
    memory_gate_give(&gate, &none);
    assert_false(waits(MEMORY_GATE_ALL));
    struct memory_pass larger = enter(500 * GIB); /* by itself anything may try */
    assert_true(waits(GIB));
    assert_false(waits(GIB - 1)); /* small */
    memory_gate_give(&gate, &larger);
    struct memory_pass first = enter(12 * GIB);
    assert_int_equal(memory_gate_take(&gate, 20 * GIB, &first, NULL, NULL), 0); /* it is inside */
    assert_true(waits(9 * GIB) && waits(MEMORY_GATE_ALL));
    struct memory_pass second = enter(8 * GIB);
    assert_true(waits(GIB) && !waits(0));
    memory_gate_give(&gate, &first);
    assert_false(waits(12 * GIB));
    free_bytes = 11 * GIB; /* another program has it now */
    assert_true(waits(12 * GIB));
    memory_gate_give(&gate, &second);
    struct memory_pass small = enter(0);
    struct memory_pass alone = enter(MEMORY_GATE_ALL);
    assert_true(waits(GIB) && !waits(GIB - 1));
    memory_gate_give(&gate, &alone);
    memory_gate_give(&gate, &small);
    assert_true(gate.inside == 0 && gate.promised == 0);
}

TEST(grows)
{
    struct memory_pass first = enter(0);
    struct memory_pass second = enter(0);
    assert_true(memory_gate_grow(&gate, 15 * GIB, &first));
    assert_true(memory_gate_grow(&gate, 14 * GIB, &first) && first.bytes == 15 * GIB);
    assert_true(memory_gate_grow(&gate, GIB - 1, &second) && second.bytes == 0);
    assert_false(memory_gate_grow(&gate, 6 * GIB, &second));
    assert_true(memory_gate_grow(&gate, 5 * GIB, &second));
    assert_int_equal(gate.promised, 20 * GIB);
    memory_gate_give(&gate, &first);
    assert_false(memory_gate_grow(&gate, 0, &first));
    assert_true(memory_gate_grow(&gate, 20 * GIB, &second));
    memory_gate_give(&gate, &second);
    assert_int_equal(gate.promised, 0);
}

TEST(not_known)
{
    free_bytes = 0;
    struct memory_pass first = enter(500 * GIB);
    assert_false(waits(500 * GIB));
    assert_true(waits(MEMORY_GATE_ALL));
    memory_gate_give(&gate, &first);
}

TEST(shared)
{
    struct memory_pass first = enter(GIB);
    assert_false(memory_gate_was_shared(&gate, &first));
    struct memory_pass second = enter(0);
    assert_true(memory_gate_was_shared(&gate, &first) && memory_gate_was_shared(&gate, &second));
    memory_gate_give(&gate, &second);
    assert_true(memory_gate_was_shared(&gate, &first)); /* it was, for a while */
    assert_false(memory_gate_was_shared(&gate, &second));
    memory_gate_give(&gate, &first);
}

static _Atomic int order;
static int order_of[OTHERS];

static void *come_and_go(void *data)
{
    int *mine = data;
    struct memory_pass pass = enter(mine == &order_of[0] ? MEMORY_GATE_ALL : GIB);
    *mine = ++order;
    memory_gate_give(&gate, &pass);
    return NULL;
}

static bool one_waits(void)
{
    pthread_mutex_lock(&gate.lock);
    bool waits = gate.first != NULL;
    pthread_mutex_unlock(&gate.lock);
    return waits;
}

/* The one that wants all came first, so those that would fit wait behind it. */
TEST(none_overtakes)
{
    pthread_t threads[OTHERS];
    struct memory_pass inside = enter(GIB);
    order = 0;
    for (int i = 0; i < OTHERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &order_of[i]), 0);
        int64_t deadline_ns = clock_now_ns() + TIMEOUT_MS * INT64_C(1000000);
        while (!one_waits() && clock_now_ns() < deadline_ns)
            usleep(1000);
    }
    usleep(100000);
    assert_int_equal(order, 0);
    memory_gate_give(&gate, &inside);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(order_of[0], 1);
    assert_int_equal(order, OTHERS);
}
