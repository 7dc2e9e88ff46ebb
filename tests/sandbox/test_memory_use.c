/* What a process holds of this machine's memory, by the kernel's texts and by the kernel. */
#include "../support/test.h"
#include "sandbox/memory_use.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB UINT64_C(1024)
#define HELD ((size_t)48 << 20)

TEST(texts)
{
    static const struct {
        const char *status;
        uint64_t bytes;
    } rows[] = {
        {"", 0},
        {"Name:\tsolution\nState:\tR\nVmHWM:\t  900 kB\nVmRSS:\t  800 kB\n", 0},
        {"Name:\tx\nRssAnon:\t  10 kB\nRssFile:\t  20 kB\nRssShmem:\t  30 kB\nVmSwap:\t 5 kB\n",
         45 * KIB},
        {"Name:\tx\nVmPTE:\t  7 kB\nRssAnon:\t  1 kB\n", 8 * KIB},
        {"Name:\tRssAnon: 7\\nRssAnon: 7\nRssAnon:\t 1 kB\n", 1 * KIB},
        {"Name:\tx\nRssAnon:\t 1 kB\nRssFile:\t 8388608 kB\n", 1 * KIB},
        {"Name:\tx\nRssAnon:\t 1 kB\nRssFile:\t 8388610 kB\n", 3 * KIB},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(memory_use_of_status(rows[i].status), rows[i].bytes);
}

/* A sanitizer would touch its own memory with each byte, too. */
__attribute__((no_sanitize("thread", "address"))) static void touch(volatile char *memory)
{
    for (size_t at = 0; at < HELD; at += 4096)
        memory[at] = 1;
}

/* One page of zeros, and as many page tables as take HELD. */
__attribute__((no_sanitize("thread", "address"))) static void look_far(int ready)
{
    const size_t step = (size_t)2 << 20;
    const size_t bytes = HELD / 4096 * step;
    const volatile char *memory = mmap(NULL, bytes, PROT_READ,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    (void)madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += step)
        (void)memory[at];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(ready, "x", 1) == 1)
        pause();
    _exit(0);
}

/* Touches memory, has `generations` of descendants do so, too, and reports when all have. */
static void hold(int ready, int flags, int generations)
{
    char *memory = mmap(NULL, HELD, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    while (generations > 0 && fork() == 0)
        generations--;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    touch(memory);
    if (write(ready, "x", 1) == 1)
        pause();
    _exit(0);
}

static uint64_t measure(int flags, int generations, bool family)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        hold(ready[1], flags, generations);
    for (int i = 0; i <= generations; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    uint64_t bytes = memory_use_bytes(pid, family);
    kill(pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0) /* descendants become this process's children, and end */
        ;
    close(ready[0]);
    close(ready[1]);
    return bytes;
}

/* Page tables are the kernel's memory for a process, and none of its pages. */
TEST(page_tables)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        look_far(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    uint64_t held = memory_use_bytes(pid, false);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_in_range(held, HELD, 2 * HELD - 1);
    close(ready[0]);
    close(ready[1]);
}

TEST(processes)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int shared = 0; shared < 2; shared++) {
        int flags = shared ? MAP_SHARED : MAP_PRIVATE;
        uint64_t one = measure(flags, 0, true);
        assert_in_range(one, HELD, 2 * HELD - 1);
        assert_in_range(measure(flags, 2, true), 3 * HELD, UINT64_MAX);
        assert_in_range(measure(flags, 2, false), HELD, 2 * HELD - 1);
    }
    assert_int_equal(memory_use_bytes(INT32_MAX, true), 0);
}
