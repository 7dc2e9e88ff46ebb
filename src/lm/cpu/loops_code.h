/* The source of the loops (loops.h), included once by each loops_*.c with LOOPS (the table's name),
 * LOOPS_NAME and VECTOR_BYTES set. Loops that the compiler vectorises by itself are left to it;
 * those that live from many accumulators are written in vectors. */
#include "lm/cpu/loops.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));
/* The same anywhere in memory. */
typedef float loose __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t lanes __attribute__((vector_size(VECTOR_BYTES)));
typedef float quad __attribute__((vector_size(16)));
#define LANES (sizeof(vector) / sizeof(float))

extern const struct lm_loops LOOPS;

static inline vector load(const float *x)
{
    return *(const loose *)x;
}

/* The last few; zeros behind them. */
static inline vector load_part(const float *x, size_t count)
{
    vector value = {0};
    memcpy(&value, x, count * sizeof *x);
    return value;
}

static inline quad fold(vector value)
{
    quad parts[LANES / 4], sum;
    memcpy(parts, &value, sizeof value);
    sum = parts[0];
    for (size_t i = 1; i < LANES / 4; i++)
        sum += parts[i];
    return sum;
}

/* The four sums over lanes. */
static inline quad totals(const vector *values)
{
    quad a = fold(values[0]), b = fold(values[1]), c = fold(values[2]), d = fold(values[3]);
    quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
           __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

static inline float bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* exp(x) = 2ⁿ·exp(r), |r| <= ln 2 / 2; exp(r) = 1 + r + r²·p(r) with p fitted at Chebyshev's
 * points. Adding 1.5·2²³ rounds to a whole number and leaves it in the low bits. 2ⁿ comes in two
 * factors, so that results that overflow, or are denormal, are so by arithmetic. NaN stays NaN. */
static inline float exp_of(float x)
{
    const float magic = 0x1.8p23F;
    x = x < -110 ? -110 : x;
    x = x > 90 ? 90 : x;
    float shifted = x * 0x1.715476p+0F + magic;
    float n = shifted - magic;
    float r = x -
              n * 0x1.62e4p-1F; /* ln 2 in two parts; the first has few bits: n times it is exact */
    r = r - n * 0x1.7f7d1cp-20F;
    float p = 0x1.6d4352p-10F;
    p = p * r + 0x1.120b96p-7F;
    p = p * r + 0x1.5554e8p-5F;
    p = p * r + 0x1.5554dcp-3F;
    p = p * r + 0.5F;
    p = p * (r * r) + r + 1;
    int32_t whole = (int32_t)(float_bits(shifted) - float_bits(magic));
    int32_t half = whole >> 1;
    float low = bits_float((uint32_t)(half + 127) << 23);
    float high = bits_float((uint32_t)(whole - half + 127) << 23);
    return p * low * high;
}

static void loop_exp(size_t count, const float *x, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = exp_of(x[i]);
}

static void loop_add(size_t count, float factor, const float *x, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] += factor * x[i];
}

static void loop_scale(size_t count, float factor, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] *= factor;
}

static float loop_dot(size_t count, const float *x, const float *y)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Four places at once, so that not every addition waits for the one before. */
static double loop_square_sum(size_t count, const float *x)
{
    double a = 0, b = 0, c = 0, d = 0;
    size_t quarter = count / 4;
    const float *y = x + quarter, *z = y + quarter, *w = z + quarter;
#pragma omp simd reduction(+ : a, b, c, d)
    for (size_t i = 0; i < quarter; i++) {
        a += (double)x[i] * (double)x[i];
        b += (double)y[i] * (double)y[i];
        c += (double)z[i] * (double)z[i];
        d += (double)w[i] * (double)w[i];
    }
    for (size_t i = 4 * quarter; i < count; i++)
        a += (double)x[i] * (double)x[i];
    return (a + b) + (c + d);
}

/* The last few columns of `rows` rows of x by one of weight. */
static inline void add_rest(size_t rows, size_t count, const float *x, size_t x_stride,
                            const float *weight, vector *sums)
{
    vector last = load_part(weight, count);
    for (size_t r = 0; r < rows; r++)
        sums[r] += load_part(x + r * x_stride, count) * last;
}

/* `rows` of x, at most 4, by 4 of weight, which are read in the order of memory: what memory
 * delivers is the limit. Several sums for each row, as many as hide the latency; both numbers are
 * constants here. */
static inline __attribute__((always_inline)) void stream(size_t rows, size_t parts, size_t in,
                                                         const float *x, size_t x_stride,
                                                         const float *weight, size_t weight_stride,
                                                         float *y, size_t y_stride)
{
    vector sums[4][4];
    for (size_t o = 0; o < 4; o++, weight += weight_stride) {
        vector part[4][4] = {0}, whole[4];
        size_t i = 0;
        for (; i + parts * LANES <= in; i += parts * LANES)
            for (size_t p = 0; p < parts; p++) {
                vector column = load(weight + i + p * LANES);
                for (size_t r = 0; r < rows; r++)
                    part[r][p] += load(x + r * x_stride + i + p * LANES) * column;
            }
        for (size_t r = 0; r < rows; r++) {
            whole[r] = part[r][0];
            for (size_t p = 1; p < parts; p++)
                whole[r] += part[r][p];
        }
        for (; i < in; i += LANES)
            add_rest(rows, in - i < LANES ? in - i : LANES, x + i, x_stride, weight + i, whole);
        for (size_t r = 0; r < rows; r++)
            sums[r][o] = whole[r];
    }
    for (size_t r = 0; r < rows; r++) {
        quad found = totals(sums[r]);
        memcpy(y + r * y_stride, &found, sizeof found);
    }
}

/* The next 4 rows of x, by 4 of weight that are in the cache by now: all 16 sums in registers,
 * because arithmetic is the limit. */
static void tile(size_t in, const float *x, size_t x_stride, const float *weight,
                 size_t weight_stride, float *y, size_t y_stride)
{
    vector sums[4][4] = {0}; /* [o][r] */
    size_t i = 0;
    for (; i + LANES <= in; i += LANES)
        for (size_t o = 0; o < 4; o++) {
            vector column = load(weight + o * weight_stride + i);
            for (size_t r = 0; r < 4; r++)
                sums[o][r] += load(x + r * x_stride + i) * column;
        }
    for (size_t o = 0; i < in && o < 4; o++)
        add_rest(4, in - i, x + i, x_stride, weight + o * weight_stride + i, sums[o]);
    for (size_t r = 0; r < 4; r++) {
        vector row[4] = {sums[0][r], sums[1][r], sums[2][r], sums[3][r]};
        quad found = totals(row);
        memcpy(y + r * y_stride, &found, sizeof found);
    }
}

/* The first rows, so many that fours are left, go with the stream. `alike`: one sum for each row
 * there too, as the tiles have, so that a row's bits do not depend on where among them it is. */
static inline __attribute__((always_inline)) void
few_rows(bool alike, size_t rows, size_t in, size_t out, const float *x, size_t x_stride,
         const float *weight, size_t weight_stride, float *y, size_t y_stride)
{
    size_t o = 0, first = (rows + 3) % 4 + 1;
    for (; o + 4 <= out; o += 4, weight += 4 * weight_stride, y += 4) {
        if (first == 4)
            stream(4, 1, in, x, x_stride, weight, weight_stride, y, y_stride);
        else if (first == 3)
            stream(3, 1, in, x, x_stride, weight, weight_stride, y, y_stride);
        else if (first == 2)
            stream(2, alike ? 1 : 2, in, x, x_stride, weight, weight_stride, y, y_stride);
        else
            stream(1, alike ? 1 : 4, in, x, x_stride, weight, weight_stride, y, y_stride);
        for (size_t r = first; r < rows; r += 4)
            tile(in, x + r * x_stride, x_stride, weight, weight_stride, y + r * y_stride, y_stride);
    }
    for (; o < out; o++, weight += weight_stride, y++)
        for (size_t r = 0; r < rows; r++)
            y[r * y_stride] = loop_dot(in, x + r * x_stride, weight);
}

static void loop_rows_by_rows(size_t rows, size_t in, size_t out, const float *x, size_t x_stride,
                              const float *weight, size_t weight_stride, float *y, size_t y_stride)
{
    few_rows(false, rows, in, out, x, x_stride, weight, weight_stride, y, y_stride);
}

static void loop_rows_alike(size_t rows, size_t in, size_t out, const float *x, size_t x_stride,
                            const float *weight, size_t weight_stride, float *y, size_t y_stride)
{
    few_rows(true, rows, in, out, x, x_stride, weight, weight_stride, y, y_stride);
}

/* Four vectors of y at a time stay in registers while all rows go by. */
static void loop_mix(size_t rows, size_t width, const float *factor, const float *x,
                     size_t x_stride, float *y)
{
    size_t i = 0;
    for (; i + 4 * LANES <= width; i += 4 * LANES) {
        vector sums[4];
        memcpy(sums, y + i, sizeof sums);
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < 4; k++)
                sums[k] += factor[r] * load(x + r * x_stride + i + k * LANES);
        memcpy(y + i, sums, sizeof sums);
    }
    for (size_t r = 0; r < rows && i < width; r++)
        loop_add(width - i, factor[r], x + r * x_stride + i, y + i);
}

static void loop_rmsnorm(size_t rows, size_t width, float epsilon, const float *x,
                         const float *weight, float *y, float *inverse)
{
    for (size_t r = 0; r < rows; r++, x += width, y += width) {
        float mean = loop_dot(width, x, x) / (float)width;
        float factor = 1 / sqrtf(mean + epsilon);
#pragma omp simd
        for (size_t i = 0; i < width; i++)
            y[i] = x[i] * factor * weight[i];
        if (inverse)
            inverse[r] = factor;
    }
}

/* With u = x/rms: dx = (w·dy - u·mean(w·dy·u))/rms, dw = Σ dy·u. */
static void loop_rmsnorm_backward(size_t rows, size_t width, const float *x, const float *weight,
                                  const float *inverse, const float *dy, float *dx, bool add_dx,
                                  float *dweight)
{
    for (size_t r = 0; r < rows; r++, x += width, dy += width) {
        float factor = inverse[r], sum = 0, keep = add_dx ? 1 : 0;
        if (dweight) {
#pragma omp simd
            for (size_t i = 0; i < width; i++)
                dweight[i] += dy[i] * x[i] * factor;
        }
        if (!dx)
            continue;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < width; i++)
            sum += weight[i] * dy[i] * x[i];
        float pull = factor * factor * (sum / (float)width);
        if (keep > 0) {
#pragma omp simd
            for (size_t i = 0; i < width; i++)
                dx[i] += factor * (weight[i] * dy[i] - x[i] * pull);
        } else {
#pragma omp simd
            for (size_t i = 0; i < width; i++)
                dx[i] = factor * (weight[i] * dy[i] - x[i] * pull);
        }
        dx += width;
    }
}

static void loop_rope(size_t heads, size_t width, const float *cosine, const float *sine,
                      float sign, float *x)
{
    size_t half = width / 2;
    for (size_t h = 0; h < heads; h++, x += width) {
        float *y = x + half;
#pragma omp simd
        for (size_t i = 0; i < half; i++) {
            float a = x[i], b = y[i], s = sign * sine[i];
            x[i] = a * cosine[i] - b * s;
            y[i] = b * cosine[i] + a * s;
        }
    }
}

static void loop_swiglu(size_t count, const float *gate, const float *up, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = gate[i] / (1 + exp_of(-gate[i])) * up[i];
}

/* With s = sigmoid(g): d(g·s)/dg = s·(1 + g·(1 - s)). */
static void loop_swiglu_backward(size_t count, const float *gate, const float *up, const float *dy,
                                 float *dgate, float *dup)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        float g = gate[i], u = up[i], d = dy[i];
        float s = 1 / (1 + exp_of(-g));
        dgate[i] = d * u * s * (1 + g * (1 - s));
        dup[i] = d * g * s;
    }
}

/* Lane by lane; b where one of them is NaN. */
static inline vector larger(vector a, vector b)
{
    lanes chosen = a > b;
    return (vector)(((lanes)a & chosen) | ((lanes)b & ~chosen));
}

static float loop_highest(size_t count, const float *x)
{
    vector best[2] = {(vector){0} - INFINITY, (vector){0} - INFINITY};
    float highest = -INFINITY;
    size_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        best[0] = larger(load(x + i), best[0]);
        best[1] = larger(load(x + i + LANES), best[1]);
    }
    best[0] = larger(best[0], best[1]);
    for (size_t lane = 0; lane < LANES; lane++)
        highest = best[0][lane] > highest ? best[0][lane] : highest;
    for (; i < count; i++)
        highest = x[i] > highest ? x[i] : highest;
    return highest;
}

static float loop_exp_shifted(size_t count, float shift, float *x)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) {
        x[i] = exp_of(x[i] - shift);
        sum += x[i];
    }
    return sum;
}

/* In pieces that stay in the first cache between the look for the highest and the sum, and of these
 * in runs so short that a sum of floats is right whether or not a compiler makes lanes of it. */
#define PIECE 2048
#define RUN 256

static void loop_exp_sums(size_t count, const float *x, struct lm_exp_sums *sums)
{
    for (size_t first = 0; first < count; first += PIECE) {
        size_t n = count - first < PIECE ? count - first : PIECE;
        const float *piece = x + first;
        float highest = loop_highest(n, piece);
        if (highest > sums->highest) {
            double less = exp((double)sums->highest - (double)highest);
            sums->sum *= less;
            sums->weighted *= less;
            sums->highest = highest;
        }
        float shift = sums->highest;
        for (size_t begin = 0; begin < n; begin += RUN) {
            size_t end = n - begin < RUN ? n : begin + RUN;
            float sum = 0, weighted = 0;
#pragma omp simd reduction(+ : sum, weighted)
            for (size_t i = begin; i < end; i++) {
                float e = exp_of(piece[i] - shift);
                sum += e;
                weighted += e * piece[i];
            }
            sums->sum += (double)sum;
            sums->weighted += (double)weighted;
        }
    }
}

static void loop_logit_gradient(size_t count, float lse, float constant, float slope, float *x)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        x[i] = exp_of(x[i] - lse) * (constant + slope * x[i]);
}

static void loop_softmax_backward(size_t count, float delta, float scale, const float *p, float *dp)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        dp[i] = p[i] * (dp[i] - delta) * scale;
}

/* Means of rows that get no gradient any more (the embedding of a rare token) fade into denormal
 * numbers, on which some processors take a hundred times as long. */
static inline float normal(float x)
{
    return fabsf(x) < FLT_MIN ? 0 : x;
}

static void loop_adamw(size_t count, const struct lm_adamw_step *step, const float *gradient,
                       float *m, float *v, float *weight)
{
    const struct lm_adamw_step s = *step;
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] * s.gradient_scale;
        float mean = normal(s.beta1 * m[i] + s.rest1 * g);
        float square = normal(s.beta2 * v[i] + s.rest2 * g * g);
        m[i] = mean;
        v[i] = square;
        weight[i] -= s.rate * (mean * s.inverse1 / (sqrtf(square) * s.inverse2_root + s.epsilon) +
                               s.decay * weight[i]);
    }
}

const struct lm_loops LOOPS = {
    .name = LOOPS_NAME,
    .exp = loop_exp,
    .add = loop_add,
    .scale = loop_scale,
    .dot = loop_dot,
    .square_sum = loop_square_sum,
    .rows_by_rows = loop_rows_by_rows,
    .rows_alike = loop_rows_alike,
    .mix = loop_mix,
    .rmsnorm = loop_rmsnorm,
    .rmsnorm_backward = loop_rmsnorm_backward,
    .rope = loop_rope,
    .swiglu = loop_swiglu,
    .swiglu_backward = loop_swiglu_backward,
    .exp_sums = loop_exp_sums,
    .highest = loop_highest,
    .exp_shifted = loop_exp_shifted,
    .logit_gradient = loop_logit_gradient,
    .softmax_backward = loop_softmax_backward,
    .adamw = loop_adamw,
};
