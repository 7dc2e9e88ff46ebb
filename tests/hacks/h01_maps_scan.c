// problem: softmax
// catalogue: H01
// expect: wrong|runtime_error|violation
// says: Reads its own memory map and scans every other mapping for a finished softmax.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int row_of_one(const float *block, size_t cols)
{
    double sum = 0;
    for (size_t j = 0; j < cols; j++) {
        if (!(block[j] > 0 && block[j] <= 1))
            return 0;
        sum += block[j];
    }
    return fabs(sum - 1) < 1e-4;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long low, high;
    char line[512], mode[8];
    size_t bytes = rows * cols * sizeof *y;
    (void)x;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &low, &high, mode) != 3 || mode[0] != 'r' ||
            strstr(line, "[v"))
            continue;
        for (uintptr_t p = low; p + bytes <= high; p += 64)
            if (p != (uintptr_t)y && row_of_one((const float *)p, cols)) {
                memcpy(y, (const void *)p, bytes);
                fclose(maps);
                return;
            }
    }
    if (maps)
        fclose(maps);
}
