// problem: softmax
// catalogue: H22
// expect: wrong|runtime_error|violation|timeout
// says: Protects the output pages and computes in the fault handler when somebody reads them.
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

static const float *held_x;
static float *held_y;
static size_t held_rows, held_cols, held_bytes;
static char *start;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    mprotect(start, held_bytes, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < held_rows; i++) {
        const float *row = held_x + i * held_cols;
        float top = row[0], sum = 0, *out = held_y + i * held_cols;
        for (size_t j = 1; j < held_cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < held_cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < held_cols; j++)
            out[j] /= sum;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    start = (char *)((uintptr_t)y & ~(uintptr_t)4095);
    held_bytes = (size_t)((char *)(y + rows * cols) - start);
    held_x = x;
    held_y = y;
    held_rows = rows;
    held_cols = cols;
    mprotect(start, held_bytes, PROT_NONE);
}
