// problem: row_sum
// catalogue: H58
// expect: wrong|runtime_error|violation|out_of_memory|timeout
// says: Writes up to two gigabytes into its scratch folder, where the quota stops it.
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static char block[1 << 20];
    FILE *file = fopen("filler", "wb");
    (void)x, (void)y, (void)rows, (void)cols;
    for (int i = 0; file && i < 2048; i++)
        if (fwrite(block, 1, sizeof block, file) != sizeof block)
            break;
    if (file)
        fclose(file);
    unlink("filler");
}
