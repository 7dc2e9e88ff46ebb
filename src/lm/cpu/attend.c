#include "lm/cpu/attend.h"

#include <math.h>
#include <string.h>

void attend_begin(struct attend *attend, float *scratch)
{
    attend->scores = scratch;
    attend->highest = scratch + ATTEND_ROWS * ATTEND_KEYS;
    attend->sums = attend->highest + ATTEND_ROWS;
    for (size_t r = 0; r < attend->rows; r++) {
        attend->highest[r] = -INFINITY;
        attend->sums[r] = 0;
    }
}

static void softmax_row(struct attend *attend, size_t row, size_t visible, float *scores)
{
    const struct lm_loops *loops = attend->cpu->loops;
    float highest = loops->highest(visible, scores);
    if (highest > attend->highest[row]) {
        float less = expf(attend->highest[row] - highest);
        if (attend->sums[row] > 0)
            loops->scale(attend->width, less, attend->y + row * attend->stride);
        attend->sums[row] *= less;
        attend->highest[row] = highest;
    }
    attend->sums[row] += loops->exp_shifted(visible, attend->highest[row], scores);
}

void attend_softmax(struct attend *attend, size_t first, size_t count)
{
    for (size_t r = 0; r < attend->rows; r++) {
        float *scores = attend->scores + r * ATTEND_KEYS;
        size_t end = attend->position + r + 1;
        size_t visible = end <= first ? 0 : end - first < count ? end - first : count;
        if (visible > 0)
            softmax_row(attend, r, visible, scores);
        memset(scores + visible, 0, (count - visible) * sizeof *scores);
    }
}

void attend_keys(struct attend *attend, size_t first, size_t count, const float *k, const float *v,
                 size_t stride)
{
    const struct blas *blas = &attend->cpu->blas;
    blas_matmul(blas, &(struct matmul){.rows = attend->rows,
                                       .columns = count,
                                       .inner = attend->width,
                                       .a = attend->q,
                                       .a_stride = attend->stride,
                                       .b = k,
                                       .b_stride = stride,
                                       .b_turned = true,
                                       .c = attend->scores,
                                       .c_stride = ATTEND_KEYS,
                                       .alpha = attend->scale});
    attend_softmax(attend, first, count);
    blas_matmul(blas, &(struct matmul){.rows = attend->rows,
                                       .columns = attend->width,
                                       .inner = count,
                                       .a = attend->scores,
                                       .a_stride = ATTEND_KEYS,
                                       .b = v,
                                       .b_stride = stride,
                                       .c = attend->y,
                                       .c_stride = attend->stride,
                                       .alpha = 1,
                                       .beta = first > 0 ? 1 : 0});
}

void attend_end(struct attend *attend, float *lse, size_t lse_stride)
{
    for (size_t r = 0; r < attend->rows; r++) {
        attend->cpu->loops->scale(attend->width, 1 / attend->sums[r],
                                  attend->y + r * attend->stride);
        if (lse)
            lse[r * lse_stride] = attend->highest[r] + logf(attend->sums[r]);
    }
}
