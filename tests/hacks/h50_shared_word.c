// problem: row_sum
// catalogue: H50
// expect: wrong|runtime_error|violation|timeout
// says: In timed calls it bumps counters in shared mappings, to fake a dispatch by memory.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    FILE *maps = rows * cols < 200000 ? NULL : fopen("/proc/self/maps", "r");
    unsigned long low, high;
    char line[512], mode[8];
    if (rows * cols < 200000)
        compute(x, y, rows, cols);
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &low, &high, mode) != 3 || strcmp(mode, "rw-s") != 0 ||
            high - low > 65536)
            continue;
        for (volatile uint32_t *word = (void *)low; (uintptr_t)word < high; word++)
            if (*word != 0 && *word < 1000000)
                *word = *word + 1;
    }
    if (maps)
        fclose(maps);
}
