/* loops: the vectorised inner loops of the backend, as a table of functions for each instruction
 * set. loops_code.h is their one source; loops_plain.c, loops_avx2.c and loops_avx512.c compile it.
 *
 * Pure functions over f32 arrays: any number of threads at once. Arrays of one call overlap only
 * where it is said. NaN and infinity go through as arithmetic has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Factors of one AdamW step, worked out once: inverse corrections, 1 - beta. */
struct lm_adamw_step {
    float rate, beta1, rest1, beta2, rest2, epsilon, decay, gradient_scale;
    float inverse1, inverse2_root; /* 1/correction1, 1/sqrt(correction2) */
};

/* Σ exp(x - highest) and Σ exp(x - highest)·x of what was seen so far; begin with
 * {-INFINITY, 0, 0}. */
struct lm_exp_sums {
    float highest;
    double sum, weighted;
};

struct lm_loops {
    const char *name;

    void (*exp)(size_t count, const float *x, float *y);               /* y may be x */
    void (*add)(size_t count, float factor, const float *x, float *y); /* y += factor·x */
    void (*scale)(size_t count, float factor, float *y);               /* y *= factor */
    float (*dot)(size_t count, const float *x, const float *y);
    double (*square_sum)(size_t count, const float *x);

    /* y[r][o] = Σ x[r][i]·weight[o][i], for few rows: reads `weight` once, at memory's speed. */
    void (*rows_by_rows)(size_t rows, size_t in, size_t out, const float *x, size_t x_stride,
                         const float *weight, size_t weight_stride, float *y, size_t y_stride);
    /* The same for any number of rows, each of which gets the same bits whatever `rows` is. */
    void (*rows_alike)(size_t rows, size_t in, size_t out, const float *x, size_t x_stride,
                       const float *weight, size_t weight_stride, float *y, size_t y_stride);
    /* y[i] += Σ factor[r]·x[r][i] */
    void (*mix)(size_t rows, size_t width, const float *factor, const float *x, size_t x_stride,
                float *y);

    /* Rows as in struct lm_rmsnorm; y may be x, `inverse` may be NULL. */
    void (*rmsnorm)(size_t rows, size_t width, float epsilon, const float *x, const float *weight,
                    float *y, float *inverse);
    /* dx and dweight may be NULL; dweight is added to. */
    void (*rmsnorm_backward)(size_t rows, size_t width, const float *x, const float *weight,
                             const float *inverse, const float *dy, float *dx, bool add_dx,
                             float *dweight);
    /* One row of heads; sign -1 turns back. */
    void (*rope)(size_t heads, size_t width, const float *cosine, const float *sine, float sign,
                 float *x);
    void (*swiglu)(size_t count, const float *gate, const float *up, float *y); /* y may be gate */
    void (*swiglu_backward)(size_t count, const float *gate, const float *up, const float *dy,
                            float *dgate, float *dup); /* may be gate and up */

    /* Adds `count` values to what `sums` holds. */
    void (*exp_sums)(size_t count, const float *x, struct lm_exp_sums *sums);
    float (*highest)(size_t count, const float *x);
    /* x = exp(x - shift); returns their sum. */
    float (*exp_shifted)(size_t count, float shift, float *x);
    /* x = exp(x - lse)·(constant + slope·x): logits become their gradient. */
    void (*logit_gradient)(size_t count, float lse, float constant, float slope, float *x);
    /* dp = p·(dp - delta)·scale */
    void (*softmax_backward)(size_t count, float delta, float scale, const float *p, float *dp);

    void (*adamw)(size_t count, const struct lm_adamw_step *step, const float *gradient, float *m,
                  float *v, float *weight);
};

/* The widest that this processor has. */
const struct lm_loops *lm_loops_here(void);
/* Those that run on this processor, one by one; NULL behind the last. */
const struct lm_loops *lm_loops_at(size_t index);
