// Radix sort, lowest byte first, of keys that order like the floats; rows over threads.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 4, VALUES = 256 };

/* Floats as unsigned integers of the same order: a negative number has all its bits inverted, any
 * other one only the sign. */
static uint32_t key_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ (bits >> 31 ? UINT32_MAX : 1u << 31);
}

static float value_of(uint32_t key)
{
    uint32_t bits = key ^ (key >> 31 ? 1u << 31 : UINT32_MAX);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Counts of all four digits in one pass over the row, turned into starts. */
static void count_digits(const uint32_t *keys, size_t count, uint32_t start[DIGITS][VALUES])
{
    memset(start, 0, DIGITS * sizeof start[0]);
    for (size_t j = 0; j < count; j++)
        for (size_t d = 0; d < DIGITS; d++)
            start[d][keys[j] >> 8 * d & 255]++;
    for (size_t d = 0; d < DIGITS; d++) {
        uint32_t total = 0;
        for (size_t v = 0; v < VALUES; v++) {
            uint32_t own = start[d][v];
            start[d][v] = total;
            total += own;
        }
    }
}

/* Four passes, so the keys end where they began. */
static void sort_keys(uint32_t *keys, uint32_t *spare, size_t count)
{
    uint32_t start[DIGITS][VALUES];
    count_digits(keys, count, start);
    for (size_t d = 0; d < DIGITS; d++) {
        for (size_t j = 0; j < count; j++)
            spare[start[d][keys[j] >> 8 * d & 255]++] = keys[j];
        uint32_t *kept = keys;
        keys = spare;
        spare = kept;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel if (rows > 1 && rows * cols > 5000)
    {
        uint32_t *keys = malloc(2 * cols * sizeof *keys);
#pragma omp for
        for (size_t i = 0; i < rows; i++) {
            if (!keys)
                continue;
            for (size_t j = 0; j < cols; j++)
                keys[j] = key_of(x[i * cols + j]);
            sort_keys(keys, keys + cols, cols);
            for (size_t j = 0; j < cols; j++)
                y[i * cols + j] = value_of(keys[j]);
        }
        free(keys);
    }
}
