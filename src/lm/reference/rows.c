/* What works on each row or element alone: norms, rotations, gates, and the optimiser's loops. */
#include "lm/reference/reference.h"

#include <math.h>

void reference_rmsnorm(struct lm_backend *backend, const struct lm_rmsnorm *op)
{
    const float *weight = op->weight;
    for (size_t row = 0; row < op->rows; row++) {
        const float *x = (const float *)op->x + row * op->width;
        float *y = (float *)op->y + row * op->width;
        double mean = reference_dot(x, 1, x, 1, op->width) / (double)op->width;
        double inverse = 1 / sqrt(mean + (double)op->epsilon);
        for (size_t i = 0; i < op->width; i++)
            y[i] = (float)((double)x[i] * inverse * (double)weight[i]);
        if (op->inverse)
            op->inverse[row] = (float)inverse;
    }
}

/* With n = x · inverse and g = dy · weight: dx = inverse · (g - n · mean(g · n)). */
void reference_rmsnorm_backward(struct lm_backend *backend, const struct lm_rmsnorm *op)
{
    const float *weight = op->weight;
    float *dweight = op->dweight;
    for (size_t i = 0; dweight && i < op->width; i++) {
        const float *x = op->x, *dy = op->dy;
        double sum = 0;
        for (size_t row = 0; row < op->rows; row++) {
            size_t at = row * op->width + i;
            sum += (double)dy[at] * (double)x[at] * (double)op->inverse[row];
        }
        dweight[i] = (float)((double)dweight[i] + sum);
    }
    for (size_t row = 0; op->dx && row < op->rows; row++) {
        const float *x = (const float *)op->x + row * op->width;
        const float *dy = (const float *)op->dy + row * op->width;
        float *dx = (float *)op->dx + row * op->width;
        double inverse = (double)op->inverse[row], mean = 0;
        for (size_t i = 0; i < op->width; i++)
            mean += (double)dy[i] * (double)weight[i] * (double)x[i] * inverse;
        mean /= (double)op->width;
        for (size_t i = 0; i < op->width; i++) {
            double g = (double)dy[i] * (double)weight[i];
            double d = inverse * (g - (double)x[i] * inverse * mean);
            dx[i] = (float)(d + (op->add_dx ? (double)dx[i] : 0));
        }
    }
}

/* `turn` 1 turns forward, -1 back. */
static void rotate(const struct lm_rope *op, float *x, float turn)
{
    size_t half = op->width / 2;
    for (size_t row = 0; row < op->rows; row++) {
        const float *cosine = op->cosine + (size_t)op->positions[row] * half;
        const float *sine = op->sine + (size_t)op->positions[row] * half;
        for (size_t head = 0; head < op->heads; head++) {
            float *low = x + (row * op->heads + head) * op->width, *high = low + half;
            for (size_t i = 0; i < half; i++) {
                float a = low[i], b = high[i];
                low[i] = a * cosine[i] - turn * b * sine[i];
                high[i] = b * cosine[i] + turn * a * sine[i];
            }
        }
    }
}

void reference_rope(struct lm_backend *backend, const struct lm_rope *op)
{
    rotate(op, op->x, 1);
}

void reference_rope_backward(struct lm_backend *backend, const struct lm_rope *op)
{
    rotate(op, op->dx, -1);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

void reference_swiglu(struct lm_backend *backend, const struct lm_swiglu *op)
{
    const float *gate = op->gate, *up = op->up;
    float *y = op->y;
    for (size_t i = 0; i < op->count; i++)
        y[i] = (float)((double)gate[i] * sigmoid((double)gate[i]) * (double)up[i]);
}

void reference_swiglu_backward(struct lm_backend *backend, const struct lm_swiglu *op)
{
    const float *gate = op->gate, *up = op->up, *dy = op->dy;
    float *dgate = op->dgate, *dup = op->dup;
    for (size_t i = 0; i < op->count; i++) {
        double g = (double)gate[i], u = (double)up[i], d = (double)dy[i], s = sigmoid(g);
        dgate[i] = (float)(d * u * s * (1 + g * (1 - s)));
        dup[i] = (float)(d * g * s);
    }
}

void reference_square_sum(struct lm_backend *backend, const struct lm_square_sum *op)
{
    *op->sum = reference_dot(op->x, 1, op->x, 1, op->count);
}

void reference_adamw(struct lm_backend *backend, const struct lm_adamw *op)
{
    const float *gradient = op->gradient;
    float *weight = op->weight;
    double beta1 = (double)op->beta1, beta2 = (double)op->beta2;
    for (size_t i = 0; i < op->count; i++) {
        double g = (double)gradient[i] * (double)op->gradient_scale;
        double m = beta1 * (double)op->m[i] + (1 - beta1) * g;
        double v = beta2 * (double)op->v[i] + (1 - beta2) * g * g;
        double step = m / op->correction1 / (sqrt(v / op->correction2) + (double)op->epsilon);
        double w = (double)weight[i];
        op->m[i] = (float)m;
        op->v[i] = (float)v;
        weight[i] = (float)(w - (double)op->rate * (step + (double)op->decay * w));
    }
}
