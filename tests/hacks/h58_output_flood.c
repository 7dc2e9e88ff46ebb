// problem: row_sum
// catalogue: H58
// expect: wrong|runtime_error|violation|timeout
// says: Pours megabytes into stdout and stderr to block or exhaust whoever collects them.
#include <stddef.h>
#include <string.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static char block[1 << 16];
    (void)x, (void)rows, (void)cols;
    y[0] = 0;
    memset(block, 'A', sizeof block);
    for (int i = 0; i < 512; i++)
        if (write(1 + i % 2, block, sizeof block) < 0)
            return;
}
