// problem: relu
// catalogue: H29
// expect: passed
// speedup_below: 0.9
// says: Until it is stopped, threads leave the kernel files, pages, threads and barriers to clean up while the reference runs.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGES_BYTES = 1 << 24, STEP_BYTES = 1 << 21 };

static void leave_file(void)
{
    int fd = open("left", O_CREAT | O_RDWR, 0600);
    unlink("left");
    close(fd);
}

static void leave_pages(void)
{
    char *pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; pages != MAP_FAILED && at < PAGES_BYTES; at += STEP_BYTES)
        pages[at] = 1;
    munmap(pages, PAGES_BYTES);
}

static void *end_at_once(void *unused)
{
    return unused;
}

static void leave_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
        pthread_join(thread, NULL);
}

static void wait_for_all(void)
{
    syscall(SYS_membarrier, 1, 0, 0); /* MEMBARRIER_CMD_GLOBAL */
}

static void (*const kinds[])(void) = {leave_file, leave_pages, leave_thread, wait_for_all};

static void *go_on(void *kind)
{
    for (;;)
        (*(void (*const *)(void))kind)();
    return NULL;
}

void solution(const float *x, float *y, size_t n)
{
    static int started;
    pthread_t thread;
    if (n >= 200000 && !started++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
            if (pthread_create(&thread, NULL, go_on, (void *)&kinds[kind]) == 0)
                pthread_detach(thread);
    for (int again = 0; again < 4; again++) {
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
        __asm__ volatile("" : : "r"(y) : "memory");
    }
}
