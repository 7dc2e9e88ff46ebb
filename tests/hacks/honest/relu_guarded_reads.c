// problem: relu
// catalogue: H53
// expect: passed
// says: Changes what its own pages may be and handles its own faults: a scratch that grows.
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM_BYTES = 64 << 20, STEP_BYTES = 1 << 20 };

static char *room;

static void grow(int number, siginfo_t *info, void *context)
{
    char *at = info->si_addr;
    (void)number, (void)context;
    if (at < room || at >= room + ROOM_BYTES)
        signal(SIGSEGV, SIG_DFL);
    else
        mprotect(room + (at - room) / STEP_BYTES * STEP_BYTES, STEP_BYTES, PROT_READ | PROT_WRITE);
}

void solution(const float *x, float *y, size_t n)
{
    struct sigaction action = {.sa_sigaction = grow, .sa_flags = SA_SIGINFO};
    if (!room) {
        room = mmap(NULL, ROOM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        sigaction(SIGSEGV, &action, NULL);
    }
    float *scratch = (float *)room;
    for (size_t i = 0; i < n; i++)
        scratch[i] = x[i] > 0 ? x[i] : 0;
    memcpy(y, scratch, n * sizeof *y);
}
