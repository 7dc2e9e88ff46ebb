/* For how long a device was in use. */
#include "judge/gpu/busy_time.h"

#include "../support/test.h"
#include "base/clock.h"

static void assert_within(double seconds, double least_s, double most_s)
{
    assert_true(seconds >= least_s - 1e-9);
    assert_true(seconds <= most_s + 1e-9);
}

/* Three share it, then it is idle, then one has it alone. */
TEST(times)
{
    struct busy_time busy;
    busy_time_init(&busy);
    int64_t at_ns[6];
    at_ns[0] = clock_now_ns();
    busy_time_begin(&busy, false);
    at_ns[1] = clock_now_ns();
    support_pause(2);
    busy_time_begin(&busy, false);
    support_pause(2);
    busy_time_end(&busy);
    busy_time_begin(&busy, false);
    busy_time_end(&busy);
    support_pause(2);
    at_ns[2] = clock_now_ns();
    busy_time_end(&busy);
    at_ns[3] = clock_now_ns();
    double least_s = (double)(at_ns[2] - at_ns[1]) * 1e-9;
    double most_s = (double)(at_ns[3] - at_ns[0]) * 1e-9;
    assert_within(busy_time_read(&busy).busy_s, least_s, most_s);
    support_pause(2); /* it is idle */
    assert_within(busy_time_read(&busy).busy_s, least_s, most_s);
    assert_true(busy_time_read(&busy).alone_s == 0);

    at_ns[0] = clock_now_ns();
    busy_time_begin(&busy, true);
    at_ns[1] = clock_now_ns();
    support_pause(2);
    at_ns[2] = clock_now_ns();
    double alone_s = busy_time_read(&busy).alone_s; /* while it lasts */
    assert_within(alone_s, (double)(at_ns[2] - at_ns[1]) * 1e-9,
                  (double)(clock_now_ns() - at_ns[0]) * 1e-9);
    busy_time_end(&busy);
    at_ns[3] = clock_now_ns();
    struct busy_times times = busy_time_read(&busy);
    double alone_least_s = (double)(at_ns[2] - at_ns[1]) * 1e-9;
    double alone_most_s = (double)(at_ns[3] - at_ns[0]) * 1e-9;
    assert_within(times.alone_s, alone_least_s, alone_most_s);
    assert_within(times.busy_s, least_s + alone_least_s, most_s + alone_most_s);
    busy_time_begin(&busy, false);
    support_pause(2);
    assert_within(busy_time_read(&busy).alone_s, alone_least_s, alone_most_s);
    busy_time_end(&busy);
    assert_int_equal(busy.users, 0);
    busy_time_deinit(&busy);
}
