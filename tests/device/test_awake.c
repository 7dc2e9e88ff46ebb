#include "../support/test.h"
#include "device/awake.h"

#include <fcntl.h>
#include <unistd.h>

#define DEVICE "/dev/cpu_dma_latency"

/* What the kernel grants now, in us; reading asks for nothing. */
static int32_t granted(void)
{
    int32_t us = -1;
    int fd = open(DEVICE, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, &us, sizeof us), sizeof us);
    close(fd);
    return us;
}

TEST(held_as_long_as_somebody_holds_it)
{
    if (access(DEVICE, R_OK | W_OK) < 0) {
        print_message("skipped: %s may not be opened here\n", DEVICE);
        skip();
    }
    int32_t before = granted();
    int first = awake_begin();
    int second = awake_begin();
    assert_true(first >= 0 && second >= 0 && first != second);
    assert_int_equal(granted(), 0);
    awake_end(first);
    assert_int_equal(granted(), 0);
    awake_end(second);
    assert_int_equal(granted(), before);
}

TEST(ending_what_did_not_begin)
{
    awake_end(-1);
    int next = dup(STDERR_FILENO); /* nothing else was closed */
    assert_true(next > STDERR_FILENO);
    close(next);
}
