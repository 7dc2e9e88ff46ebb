/* Event files byte by byte: checksums of RFC 3720, frames, names, what a full disk leaves.
 * tensorboard_checks.py reads them with TensorBoard's own reader. */
#include "rl/run/event_file.h"

#include "../support/test.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(checksums)
{
    unsigned char bytes[32];
    assert_int_equal(event_file_crc32c("", 0), 0);
    assert_true(event_file_crc32c("123456789", 9) == 0xe3069283U);
    memset(bytes, 0, sizeof bytes);
    assert_true(event_file_crc32c(bytes, 32) == 0x8a9136aaU);
    memset(bytes, 0xff, sizeof bytes);
    assert_true(event_file_crc32c(bytes, 32) == 0x62a8ab43U);
    for (size_t i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_true(event_file_crc32c(bytes, 32) == 0x46dd794eU);
    for (size_t i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    assert_true(event_file_crc32c(bytes, 32) == 0x113fdb5cU);
    /* ((crc >> 15) | (crc << 17)) + 0xa282ead8 */
    assert_true(event_file_masked_crc("123456789", 9) == 0xc78ab0e5U);
}

static char *directory;

FIXTURE(make_directory)
{
    directory = support_directory();
    return 0;
}

TEST_EACH(make_directory, NULL);

static uint64_t number_at(const unsigned char *at, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* How many whole records a file has, with nothing behind them; -1: something else. */
static int count_records(const char *path)
{
    char *bytes = NULL;
    size_t count = 0;
    int records = 0;
    assert_int_equal(file_read(path, (size_t)64 << 20, &bytes, &count, NULL), 0);
    const unsigned char *at = (const unsigned char *)bytes;
    size_t left = count;
    while (left > 0) {
        size_t size = left >= 16 ? number_at(at, 8) : 0;
        if (left < 16 || left - 16 < size || number_at(at + 8, 4) != event_file_masked_crc(at, 8) ||
            number_at(at + 12 + size, 4) != event_file_masked_crc(at + 12, size)) {
            mem_free(bytes);
            return -1;
        }
        at += 16 + size;
        left -= 16 + size;
        records++;
    }
    mem_free(bytes);
    return records;
}

TEST(kinds)
{
    static const double values[] = {1, 2, NAN, 3, INFINITY};
    static const struct event_file_hparam hparams[] = {{"lr", NULL, 0.5}, {"model", "tiny", 0}};
    struct event_file events;
    assert_int_equal(event_file_open(&events, directory, 0, NULL), 0);
    char *path = mem_strdup(events.path);
    assert_int_equal(count_records(path), 2); /* its version and its beginning */
    assert_int_equal(event_file_scalar(&events, 1, "Reward/Mean", 0.5, NULL), 0);
    assert_int_equal(event_file_scalar(&events, 1, "Reward/Std", NAN, NULL), 0);
    assert_int_equal(event_file_text(&events, 1, "Best", "**fast**", NULL), 0);
    assert_int_equal(event_file_histogram(&events, 1, "Speedups", values, 5, NULL), 0);
    assert_int_equal(event_file_hparams(&events, "run", hparams, 2, NULL), 0);
    assert_int_equal(count_records(path), 7);
    assert_int_equal(event_file_histogram(&events, 1, "Nothing", values + 2, 1, NULL), 0);
    assert_int_equal(count_records(path), 7);
    assert_int_equal(event_file_scalar(&events, 1, "\xff", 1, NULL), ERR_INPUT);
    char *large = mem_alloc(LIMIT_TFEVENT_BYTES + 2);
    memset(large, 'x', LIMIT_TFEVENT_BYTES + 1);
    assert_int_equal(event_file_text(&events, 1, "Best", large, NULL), ERR_LIMIT);
    assert_int_equal(count_records(path), 7);
    mem_free(large);
    event_file_close(&events);
    mem_free(path);
}

/* Also where the clock was set back, or where two begin in one second. */
TEST(names_ascend)
{
    static const char *const old[] = {"events.out.tfevents.0000000007.host.1.0",
                                      "events.out.tfevents.9000000000.host"};
    struct event_file events;
    char *before = mem_strdup("");
    for (size_t i = 0; i < 6; i++) {
        if (i < 2) {
            char *path = mem_printf("%s/%s", directory, old[i]);
            assert_int_equal(file_write_atomic(path, "", 0, 0644, NULL), 0);
            mem_free(path);
        }
        assert_int_equal(event_file_open(&events, directory, i, NULL), 0);
        assert_true(strcmp(events.path, before) > 0);
        mem_free(before);
        before = mem_strdup(events.path);
        event_file_close(&events);
    }
    assert_non_null(strstr(before, "events.out.tfevents.9000000005."));
    mem_free(before);
}

TEST(full_disk)
{
    struct event_file events;
    struct stat status;
    struct rlimit old;
    assert_int_equal(event_file_open(&events, directory, 0, NULL), 0);
    assert_int_equal(event_file_scalar(&events, 1, "a", 1, NULL), 0);
    assert_int_equal(stat(events.path, &status), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit tight = {(rlim_t)status.st_size + 10, old.rlim_max};
    sighandler_t handler = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int result = event_file_scalar(&events, 2, "a", 1, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(result, ERR_IO);
    assert_int_equal(count_records(events.path), 3);
    assert_int_equal(event_file_scalar(&events, 3, "a", 1, NULL), 0);
    assert_int_equal(count_records(events.path), 4);
    event_file_close(&events);
}

TEST(no_directory)
{
    struct event_file events;
    struct err err = {0};
    char *path = mem_printf("%s/file", directory);
    assert_int_equal(file_write_atomic(path, "", 0, 0644, NULL), 0);
    assert_int_equal(event_file_open(&events, path, 0, &err), ERR_IO);
    assert_non_null(strstr(err.text, path));
    mem_free(path);
}
