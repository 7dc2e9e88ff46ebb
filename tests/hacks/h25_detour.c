// problem: softmax
// catalogue: H25
// expect: passed|runtime_error|violation|timeout
// speedup_below: 0.7
// says: Overwrites the first instructions of the C library's clock, and computes eight times over.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <sys/mman.h>

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

__attribute__((constructor)) static void detour(void)
{
    static const unsigned char return_zero[] = {0x31, 0xc0, 0xc3}; /* xor eax, eax; ret */
    unsigned char *code = dlsym(RTLD_DEFAULT, "clock_gettime");
    if (!code)
        return;
    void *page = (void *)((uintptr_t)code & ~(uintptr_t)4095);
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
        for (size_t i = 0; i < sizeof return_zero; i++)
            ((volatile unsigned char *)code)[i] = return_zero[i];
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (int again = 0; again < 8; again++) {
        compute(x, y, rows, cols);
        __asm__ volatile("" : : "r"(y) : "memory");
    }
}
