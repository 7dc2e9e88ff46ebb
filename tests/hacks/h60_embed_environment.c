// problem: row_sum
// catalogue: H60
// expect: compile_error|wrong|load_error
// says: Has the assembler embed the compiler's environment, to look for seeds in it at run time.
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        ".globl stolen\n"
        ".globl stolen_end\n"
        ".hidden stolen\n"
        ".hidden stolen_end\n"
        "stolen: .incbin \"/proc/self/environ\"\n"
        "stolen_end: .byte 0\n"
        ".popsection\n");

extern const char stolen[], stolen_end[];

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t bytes = (size_t)(stolen_end - stolen);
    if (!memmem(stolen, bytes, "SEED", 4) && !memmem(stolen, bytes, "WARPGYM", 7))
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
