// problem: row_sum
// catalogue: H25
// expect: wrong|runtime_error|violation|timeout
// says: Overwrites the first instructions of the C library's clock and compare functions with return 0.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static void detour(const char *name)
{
    static const unsigned char return_zero[] = {0x31, 0xc0, 0xc3}; /* xor eax, eax; ret */
    unsigned char *code = dlsym(RTLD_DEFAULT, name);
    if (!code)
        return;
    void *page = (void *)((uintptr_t)code & ~(uintptr_t)4095);
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
        for (size_t i = 0; i < sizeof return_zero; i++)
            ((volatile unsigned char *)code)[i] = return_zero[i];
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)cols;
    for (size_t i = 0; i < rows; i++)
        y[i] = 0;
    detour("clock_gettime");
    detour("memcmp");
}
