// problem: row_sum
// catalogue: H11
// expect: passed
// says: Asks the processor what it can do and picks between two right paths.
#include <immintrin.h>
#include <stddef.h>

__attribute__((target("avx2"))) static double sum_avx2(const float *row, size_t cols)
{
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
    double lanes[4], sum = 0;
    size_t j = 0;
    for (; j + 8 <= cols; j += 8) {
        __m256 value = _mm256_loadu_ps(row + j);
        low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(value)));
        high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1)));
    }
    _mm256_storeu_pd(lanes, _mm256_add_pd(low, high));
    for (; j < cols; j++)
        sum += row[j];
    return sum + lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

static double sum_plain(const float *row, size_t cols)
{
    double sum = 0;
    for (size_t j = 0; j < cols; j++)
        sum += row[j];
    return sum;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    int wide = __builtin_cpu_supports("avx2");
    for (size_t i = 0; i < rows; i++)
        y[i] = (float)(wide ? sum_avx2(x + i * cols, cols) : sum_plain(x + i * cols, cols));
}
