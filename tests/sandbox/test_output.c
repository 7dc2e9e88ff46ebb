/* Memory that takes what a process prints. Here this process is the one that prints, for a moment.
 */
#include "sandbox/output.h"

#include "../support/test.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int saved[2];
static int output; /* the judge's */

FIXTURE(begin)
{
    fflush(stdout);
    saved[0] = dup(STDOUT_FILENO);
    saved[1] = dup(STDERR_FILENO);
    output = dup(sandbox_output_make());
    return saved[0] < 0 || saved[1] < 0 || output < 0;
}

FIXTURE(end)
{
    dup2(saved[0], STDOUT_FILENO);
    dup2(saved[1], STDERR_FILENO);
    close(saved[0]);
    close(saved[1]);
    close(output);
    return 0;
}

TEST_EACH(begin, end);

static char text[2 * SANDBOX_OUTPUT_BYTES];

static void assert_written(uint64_t expected)
{
    uint64_t written;
    size_t count = sandbox_output_read(output, text, sizeof text, &written);
    assert_int_equal(written, expected);
    assert_int_equal(count, expected);
}

/* Without a flush, and in their order. */
TEST(both)
{
    printf("one ");
    (void)!write(STDERR_FILENO, "two\n", 4);
    printf("three");
    assert_written(13);
    assert_memory_equal(text, "one two\nthree", 13);
    uint64_t written;
    assert_int_equal(sandbox_output_read(output, text, 5, &written), 5);
    assert_int_equal(written, 13);
}

TEST(nothing)
{
    uint64_t written = 7;
    assert_written(0);
    assert_int_equal(sandbox_output_read(-1, text, sizeof text, &written), 0);
    assert_int_equal(written, 0);
}

TEST(flood)
{
    size_t bytes = (size_t)4 << 20;
    char *much = mem_alloc(bytes);
    memset(much, 'a', bytes);
    (void)!write(STDERR_FILENO, "b", 1);
    assert_int_equal(write(STDERR_FILENO, much, bytes), SANDBOX_OUTPUT_BYTES - 1);
    errno = 0;
    assert_int_equal(write(STDERR_FILENO, much, 1), -1);
    assert_int_equal(errno, EPERM);
    mem_free(much);
    assert_written(SANDBOX_OUTPUT_BYTES);
    assert_true(text[0] == 'b' && text[SANDBOX_OUTPUT_BYTES - 1] == 'a');
}

/* It has its size for good, whatever the process tries. */
TEST(sealed)
{
    assert_int_equal(ftruncate(STDOUT_FILENO, 0), -1);
    assert_int_equal(ftruncate(STDOUT_FILENO, SANDBOX_OUTPUT_BYTES + 1), -1);
    assert_int_equal(fallocate(STDOUT_FILENO, 0, 0, 2L * SANDBOX_OUTPUT_BYTES), -1);
    assert_int_equal(pwrite(STDOUT_FILENO, "a", 1, SANDBOX_OUTPUT_BYTES), -1);
    assert_int_equal(fcntl(STDOUT_FILENO, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

/* The end is the process's to say. */
TEST(false_end)
{
    printf("abc");
    lseek(STDOUT_FILENO, (off_t)1 << 40, SEEK_SET);
    assert_written(SANDBOX_OUTPUT_BYTES);
    assert_memory_equal(text, "abc\0", 4);
    lseek(STDOUT_FILENO, 1, SEEK_SET);
    assert_written(1);
}
