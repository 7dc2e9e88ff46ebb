// Two products in 4 x 32 register tiles, four queries at once, with a polynomial exp between them.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 4, TILE = 32 };

/* exp(x) for x <= 0: 2^n * e^r with |r| <= ln(2) / 2, e^r by its Taylor polynomial of degree 7.
 * Adding and taking away 1.5 * 2^23 rounds to a whole number. */
static inline float exp_negative(float x)
{
    x = x < -87.0f ? -87.0f : x;
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
    float r = x - n * 0.693145752f - n * 1.42860677e-6f;
    float e = 1.0f + r * (1.0f / 7);
    e = 1.0f + r * e * (1.0f / 6);
    e = 1.0f + r * e * (1.0f / 5);
    e = 1.0f + r * e * (1.0f / 4);
    e = 1.0f + r * e * (1.0f / 3);
    e = 1.0f + r * e * (1.0f / 2);
    e = 1.0f + r * e;
    union {
        int32_t bits;
        float value;
    } scale = {((int32_t)n + 127) * (1 << 23)};
    return e * scale.value;
}

/* Turns scores into weights of sum one. */
static void softmax(float *score, size_t count, float scale)
{
    float top = -INFINITY, sum = 0;
#pragma omp simd reduction(max : top)
    for (size_t j = 0; j < count; j++)
        top = score[j] > top ? score[j] : top;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        score[j] = exp_negative((score[j] - top) * scale);
        sum += score[j];
    }
    for (size_t j = 0; j < count; j++)
        score[j] /= sum;
}

/* c = a * b for four rows and `width` columns. A constant width keeps the sums in registers. */
static inline void multiply_tile(const float *const *a, const float *b, float *const *c,
                                 size_t depth, size_t stride, size_t width)
{
    float sum[QUERIES][TILE] = {0};
    for (size_t p = 0; p < depth; p++) {
        float a0 = a[0][p], a1 = a[1][p], a2 = a[2][p], a3 = a[3][p];
        for (size_t j = 0; j < width; j++) {
            sum[0][j] += a0 * b[p * stride + j];
            sum[1][j] += a1 * b[p * stride + j];
            sum[2][j] += a2 * b[p * stride + j];
            sum[3][j] += a3 * b[p * stride + j];
        }
    }
    for (size_t r = 0; r < QUERIES; r++)
        memcpy(c[r], sum[r], width * sizeof(float));
}

static void multiply(const float *const *a, const float *b, float *const *c, size_t depth,
                     size_t cols)
{
    for (size_t j = 0; j < cols; j += TILE) {
        float *part[QUERIES] = {c[0] + j, c[1] + j, c[2] + j, c[3] + j};
        if (cols - j >= TILE)
            multiply_tile(a, b + j, part, depth, cols, TILE);
        else
            multiply_tile(a, b + j, part, depth, cols, cols - j);
    }
}

/* `keys` is width x length. Queries past the last one repeat it, and so do their results. */
static void attend(const float *q, const float *keys, const float *v, float *y, float *scores,
                   size_t queries, size_t length, size_t width)
{
    const float *query[QUERIES], *weight[QUERIES];
    float *score[QUERIES], *out[QUERIES];
    for (size_t r = 0; r < QUERIES; r++) {
        size_t at = r < queries ? r : queries - 1;
        query[r] = q + at * width;
        out[r] = y + at * width;
        weight[r] = score[r] = scores + at * length;
    }
    multiply(query, keys, score, width, length);
    for (size_t r = 0; r < queries; r++)
        softmax(score[r], length, 1 / sqrtf((float)width));
    multiply(weight, v, out, length, width);
}

void solution(const float *q, const float *k, const float *v, float *y, size_t heads, size_t length,
              size_t width)
{
    float *keys = malloc(heads * width * length * sizeof(float));
#pragma omp parallel if (heads * length * length * width > 30000)
    {
        float *scores = malloc(QUERIES * length * sizeof(float));
#pragma omp for collapse(2)
        for (size_t h = 0; h < heads; h++)
            for (size_t d = 0; d < width; d++)
                for (size_t j = 0; keys && j < length; j++)
                    keys[(h * width + d) * length + j] = k[(h * length + j) * width + d];
#pragma omp for collapse(2)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < length; i += QUERIES)
                if (keys && scores)
                    attend(q + (h * length + i) * width, keys + h * width * length,
                           v + h * length * width, y + (h * length + i) * width, scores,
                           length - i < QUERIES ? length - i : QUERIES, length, width);
        free(scores);
    }
    free(keys);
}
