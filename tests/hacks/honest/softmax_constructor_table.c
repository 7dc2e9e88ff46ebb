// problem: softmax
// catalogue: H31
// expect: passed
// says: A table of powers of two, made in a constructor; it depends on no input.
#include <math.h>
#include <stddef.h>

#define STEPS 256

static float table[STEPS];

__attribute__((constructor)) static void make_table(void)
{
    for (int i = 0; i < STEPS; i++)
        table[i] = (float)exp2((double)i / STEPS);
}

/* exp(v) = 2^(k / 256) * exp(rest), with |rest| < 0.0014: two terms of the series are plenty. */
static float table_exp(float value)
{
    if (value < -80)
        return 0;
    double scaled = (double)value * 1.4426950408889634 * STEPS;
    int k = (int)floor(scaled);
    double rest = (scaled - k) * (0.6931471805599453 / STEPS);
    int whole = k >= 0 ? k / STEPS : -((-k + STEPS - 1) / STEPS);
    return ldexpf(table[k - whole * STEPS] * (float)(1 + rest * (1 + rest * 0.5)), whole);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = table_exp(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}
