// problem: row_sum
// catalogue: H60
// expect: compile_error
// says: Has the assembler embed a file of the host, which an assembler does without a word.
#include <stddef.h>

__asm__(".pushsection .rodata\n"
        "stolen: .incbin \"/etc/passwd\"\n"
        ".incbin \"/etc/hostname\"\n"
        ".popsection\n");

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
