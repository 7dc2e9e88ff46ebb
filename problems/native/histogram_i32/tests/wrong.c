/* Wrong: counts in 16 bits, which overflow once a value occurs more than 65535 times. */
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *x, int32_t *counts, size_t n, size_t bins)
{
    for (size_t bin = 0; bin < bins; bin++)
        counts[bin] = 0;
    for (size_t i = 0; i < n; i++)
        counts[x[i]] = (uint16_t)(counts[x[i]] + 1);
}
