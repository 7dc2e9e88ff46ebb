/* Turns on a device: a long use of it makes way, and no other has to wait for its end. */
#include "device/turn.h"

#include "../support/test.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static char *directory;
static _Atomic int cancelled;

FIXTURE(setup)
{
    directory = support_directory();
    cancelled = 0;
    return 0;
}

TEST_EACH(setup, NULL);

static struct device_turn begin(enum device_lock_mode mode)
{
    struct err err = {0};
    struct device_turn turn = DEVICE_TURN(directory, "cpu", &cancelled);
    assert_ok(device_turn_begin(&turn, mode, &err), &err);
    return turn;
}

/* Another user, in a thread of its own. */
struct other {
    enum device_lock_mode mode;
    int stays_ms;
    _Atomic bool inside, done;
    pthread_t thread;
};

static void *use_device(void *data)
{
    struct other *other = data;
    struct device_turn turn = DEVICE_TURN(directory, "cpu", NULL);
    if (device_turn_begin(&turn, other->mode, NULL) < 0)
        abort();
    other->inside = true;
    support_pause(other->stays_ms);
    other->inside = false;
    other->done = true;
    device_turn_end(&turn);
    return NULL;
}

static void start(struct other *other)
{
    assert_int_equal(pthread_create(&other->thread, NULL, use_device, other), 0);
}

static void wait_over(const struct device_turn *turn)
{
    while (!device_turn_over(turn)) /* the test's own limit ends it */
        support_pause(1);
}

TEST(makes_way_for_others_only)
{
    static const struct {
        enum device_lock_mode inside, outside;
        bool over;
    } rows[] = {
        {DEVICE_SHARED, DEVICE_EXCLUSIVE, true},
        {DEVICE_EXCLUSIVE, DEVICE_SHARED, true},
        {DEVICE_EXCLUSIVE, DEVICE_EXCLUSIVE, true},
        {DEVICE_SHARED, DEVICE_SHARED, false}, /* it is there already */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        struct device_turn turn = begin(rows[i].inside);
        struct other other = {.mode = rows[i].outside};
        turn.since_ns -= INT64_C(10000000000); /* a turn is over in any case */
        assert_false(device_turn_over(&turn));
        start(&other);
        if (rows[i].over) {
            wait_over(&turn);
            assert_false(other.inside || other.done);
            assert_ok(device_turn_pass(&turn, &err), &err);
        }
        pthread_join(other.thread, NULL);
        assert_true(other.done && turn.lock.held >= 0 && turn.lock.mode == rows[i].inside);
        assert_false(device_turn_over(&turn));
        device_turn_end(&turn);
        assert_true(turn.lock.held < 0);
    }
}

TEST(a_turn_lasts_a_while_and_then_a_shorter_one)
{
    double ms[2];
    for (int i = 0; i < 2; i++) {
        struct device_turn turn = begin(DEVICE_EXCLUSIVE);
        struct other other = {.mode = DEVICE_EXCLUSIVE};
        turn.held_ms[DEVICE_EXCLUSIVE] = i == 0 ? 0 : 1e6; /* it has had the device before */
        start(&other);
        support_pause(5); /* it waits now */
        while (!device_lock_wanted(&turn.lock))
            support_pause(1);
        turn.since_ns = clock_now_ns();
        wait_over(&turn);
        ms[i] = clock_ms_since(turn.since_ns);
        device_turn_end(&turn);
        pthread_join(other.thread, NULL);
    }
    assert_true(ms[0] >= 50 && ms[1] >= 10);
}

/* Two fresh users come one after the other while one that has had much waits: both are first. */
TEST(what_has_had_much_is_last)
{
    struct err err = {0};
    struct device_turn turn = begin(DEVICE_EXCLUSIVE);
    struct other others[3] = {{.mode = DEVICE_EXCLUSIVE, .stays_ms = 20},
                              {.mode = DEVICE_EXCLUSIVE, .stays_ms = 20},
                              {.mode = DEVICE_SHARED, .stays_ms = 20}};
    turn.held_ms[DEVICE_EXCLUSIVE] = 1e6;
    for (size_t i = 0; i < COUNT(others); i++)
        start(&others[i]);
    wait_over(&turn);
    assert_ok(device_turn_pass(&turn, &err), &err);
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_false(others[i].inside);
        pthread_join(others[i].thread, NULL);
    }
    assert_true(turn.held_ms[DEVICE_EXCLUSIVE] >= 1e6 && turn.lock.waited_ms >= 20);
    device_turn_end(&turn);
}

/* What shares the device for long, one piece of work as long as a turn after the other. */
struct sharing {
    _Atomic bool ends;
    _Atomic int pieces;
    pthread_t thread;
};

static void *share_device(void *data)
{
    struct sharing *sharing = data;
    struct device_turn turn = DEVICE_TURN(directory, "cpu", NULL);
    if (device_turn_begin(&turn, DEVICE_SHARED, NULL) < 0)
        abort();
    while (!sharing->ends) {
        support_pause(50);
        sharing->pieces++;
        if (device_turn_over(&turn) && device_turn_pass(&turn, NULL) < 0)
            abort();
    }
    device_turn_end(&turn);
    return NULL;
}

#define TURNS 5

/* It needs the device briefly, after a long shared use of its own: of another that is never done it
 * waits for a turn at a time. If it stood back, it would wait for several. */
TEST(what_has_had_little_alone_does_not_stand_back)
{
    struct err err = {0};
    struct sharing sharing = {0};
    assert_int_equal(pthread_create(&sharing.thread, NULL, share_device, &sharing), 0);
    support_pause(20);
    struct device_turn turn = DEVICE_TURN(directory, "cpu", &cancelled);
    turn.held_ms[DEVICE_SHARED] = 1e6;
    assert_ok(device_turn_begin(&turn, DEVICE_EXCLUSIVE, &err), &err);
    int before = sharing.pieces;
    for (int i = 0; i < TURNS; i++) {
        wait_over(&turn);
        assert_ok(device_turn_pass(&turn, &err), &err);
    }
    assert_true(sharing.pieces - before <= 2 * TURNS);
    device_turn_end(&turn);
    sharing.ends = true;
    pthread_join(sharing.thread, NULL);
}

TEST(waiting_for_the_next_turn_can_be_cancelled)
{
    struct err err = {0};
    struct device_turn turn = begin(DEVICE_SHARED);
    struct other other = {.mode = DEVICE_EXCLUSIVE, .stays_ms = 100};
    start(&other);
    wait_over(&turn);
    cancelled = 1;
    assert_int_equal(device_turn_pass(&turn, &err), ERR_CANCELLED);
    assert_true(turn.lock.held < 0 && turn.lock.gate < 0);
    device_turn_end(&turn);
    pthread_join(other.thread, NULL);
    cancelled = 0;
    turn = begin(DEVICE_EXCLUSIVE); /* nothing was left locked */
    device_turn_end(&turn);
}
