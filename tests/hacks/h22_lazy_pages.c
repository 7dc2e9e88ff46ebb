// problem: softmax
// catalogue: H22
// expect: wrong|runtime_error|violation|timeout
// says: Protects the output pages at the timed size and computes in the fault handler of a reader.
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

static const float *held_x;
static float *held_y;
static size_t held_rows, held_cols, held_bytes;
static char *start;

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    mprotect(start, held_bytes, PROT_READ | PROT_WRITE);
    compute(held_x, held_y, held_rows, held_cols);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    sigaction(SIGSEGV, &action, NULL);
    start = (char *)(((uintptr_t)y + 4095) & ~(uintptr_t)4095);
    held_bytes = (rows * cols * sizeof *y - 4096) / 4096 * 4096;
    held_x = x;
    held_y = y;
    held_rows = rows;
    held_cols = cols;
    mprotect(start, held_bytes, PROT_NONE);
}
