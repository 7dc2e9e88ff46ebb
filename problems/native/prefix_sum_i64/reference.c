#include <stddef.h>
#include <stdint.h>

void solution(const int64_t *x, int64_t *y, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        y[i] = sum;
    }
}
