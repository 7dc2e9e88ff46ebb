// problem: softmax
// catalogue: H51
// expect: load_error|runtime_error|violation
// says: An indirect-function resolver, which runs while the loader relocates, exits with status 0.
#include <stddef.h>
#include <unistd.h>

static void nothing(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}

static void (*resolve(void))(const float *, float *, size_t, size_t)
{
    __asm__ volatile("syscall" : : "a"(231L), "D"(0L) : "rcx", "r11", "memory"); /* exit_group */
    return nothing;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
    __attribute__((ifunc("resolve")));
