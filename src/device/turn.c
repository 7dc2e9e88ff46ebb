#include "device/turn.h"

#include "base/clock.h"

#define TURN_MS 50
#define TURN_SHORT_MS 10
#define TURN_LONG_MS 500
#define TURN_BACK_MS 200

/* With the lock. */
static void begin_turn(struct device_turn *turn)
{
    turn->since_ns = clock_now_ns();
}

static double turn_ms(const struct device_turn *turn)
{
    return turn->lock.held < 0 ? 0 : clock_ms_since(turn->since_ns);
}

int device_turn_begin(struct device_turn *turn, enum device_lock_mode mode, struct err *err)
{
    int result = device_lock_acquire(&turn->lock, turn->directory, turn->device, mode,
                                     turn->cancelled, err);
    begin_turn(turn);
    return result;
}

bool device_turn_long(const struct device_turn *turn)
{
    return turn->held_ms[turn->lock.mode] + turn_ms(turn) > TURN_LONG_MS;
}

bool device_turn_over(const struct device_turn *turn)
{
    double now_ms = turn_ms(turn);
    double least_ms = device_turn_long(turn) ? TURN_SHORT_MS : TURN_MS;
    return now_ms >= least_ms && device_lock_wanted(&turn->lock);
}

int device_turn_pass(struct device_turn *turn, struct err *err)
{
    double back_ms = device_turn_long(turn) ? TURN_BACK_MS : 0;
    turn->held_ms[turn->lock.mode] += turn_ms(turn);
    int result = device_lock_pass(&turn->lock, turn->device, back_ms, turn->cancelled, err);
    begin_turn(turn);
    return result;
}

void device_turn_end(struct device_turn *turn)
{
    turn->held_ms[turn->lock.mode] += turn_ms(turn);
    device_lock_release(&turn->lock);
}
