// problem: row_sum
// catalogue: H50
// expect: wrong|runtime_error|violation|timeout
// says: Bumps every small counter in shared mappings to fake the hand-over through a shared word.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long low, high;
    char line[512], mode[8];
    (void)x, (void)cols;
    memset(y, 0, rows * sizeof *y);
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
