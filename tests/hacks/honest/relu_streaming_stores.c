// problem: relu
// catalogue: H21
// expect: passed
// says: Non-temporal stores with a fence at the end: nothing is still under way when it returns.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

void solution(const float *x, float *y, size_t n)
{
    size_t i = 0;
    for (; i < n && (uintptr_t)(y + i) % 16 != 0; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    for (; i + 4 <= n; i += 4)
        _mm_stream_ps(y + i, _mm_max_ps(_mm_loadu_ps(x + i), _mm_setzero_ps()));
    _mm_sfence();
    for (; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
