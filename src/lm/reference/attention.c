/* Attention: causal within packed sequences, forward and backward, and over a paged cache. */
#include "lm/reference/reference.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Turns scores into probabilities; returns the log of their exponents' sum. */
static double softmax(double *scores, size_t count)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, scores[i]);
    for (size_t i = 0; i < count; i++)
        sum += exp(scores[i] - most);
    double lse = most + log(sum);
    for (size_t i = 0; i < count; i++)
        scores[i] = exp(scores[i] - lse);
    return lse;
}

/* One row and head: its query, and the first key and value that it reads. */
struct head_rows {
    size_t q, k, count; /* k's neighbours are `step` apart */
    size_t step, width;
};

static struct head_rows head_rows_of(const struct lm_attention *op, size_t first, size_t row,
                                     size_t head)
{
    size_t group = op->heads / op->kv_heads;
    return (struct head_rows){
        .q = (row * op->heads + head) * op->width,
        .k = (first * op->kv_heads + head / group) * op->width,
        .count = row - first + 1,
        .step = op->kv_heads * op->width,
        .width = op->width,
    };
}

static void attend(const struct lm_attention *op, const struct head_rows *at, double *p, float *lse)
{
    const float *q = (const float *)op->q + at->q;
    const float *k = (const float *)op->k + at->k;
    const float *v = (const float *)op->v + at->k;
    float *y = (float *)op->y + at->q;
    for (size_t j = 0; j < at->count; j++)
        p[j] = (double)op->scale * reference_dot(q, 1, k + j * at->step, 1, at->width);
    *lse = (float)softmax(p, at->count);
    for (size_t i = 0; i < at->width; i++) {
        double sum = 0;
        for (size_t j = 0; j < at->count; j++)
            sum += p[j] * (double)v[j * at->step + i];
        y[i] = (float)sum;
    }
}

void reference_attention(struct lm_backend *backend, const struct lm_attention *op)
{
    double *p = mem_alloc(op->longest * sizeof *p);
    for (size_t s = 0; s < op->sequences; s++)
        for (size_t row = (size_t)op->starts[s]; row < (size_t)op->starts[s + 1]; row++)
            for (size_t head = 0; head < op->heads; head++) {
                struct head_rows at = head_rows_of(op, (size_t)op->starts[s], row, head);
                float lse;
                attend(op, &at, p, op->lse ? &op->lse[row * op->heads + head] : &lse);
            }
    mem_free(p);
}

/* With p = softmax(scores) and t_j = dy · v_j (Dao et al. 2022, appendix B.2):
 *   dv_j += p_j · dy,  dscore_j = p_j · (t_j - dy · y),  dq = scale · Σ dscore_j · k_j,
 *   dk_j += scale · dscore_j · q */
static void attend_backward(const struct lm_attention *op, const struct head_rows *at, float lse)
{
    const float *q = (const float *)op->q + at->q, *dy = (const float *)op->dy + at->q;
    const float *y = (const float *)op->y + at->q;
    float *dq = (float *)op->dq + at->q;
    double mean = reference_dot(dy, 1, y, 1, at->width);
    for (size_t j = 0; j < at->count; j++) {
        size_t other = at->k + j * at->step;
        const float *k = (const float *)op->k + other, *v = (const float *)op->v + other;
        float *dk = (float *)op->dk + other, *dv = (float *)op->dv + other;
        double score = (double)op->scale * reference_dot(q, 1, k, 1, at->width);
        double p = exp(score - (double)lse);
        double dscore = p * (reference_dot(dy, 1, v, 1, at->width) - mean) * (double)op->scale;
        for (size_t i = 0; i < at->width; i++) {
            dv[i] += (float)(p * (double)dy[i]);
            dk[i] += (float)(dscore * (double)q[i]);
            dq[i] += (float)(dscore * (double)k[i]);
        }
    }
}

void reference_attention_backward(struct lm_backend *backend, const struct lm_attention *op)
{
    size_t bytes = op->rows * op->kv_heads * op->width * sizeof(float);
    memset(op->dq, 0, op->rows * op->heads * op->width * sizeof(float));
    memset(op->dk, 0, bytes);
    memset(op->dv, 0, bytes);
    for (size_t s = 0; s < op->sequences; s++)
        for (size_t row = (size_t)op->starts[s]; row < (size_t)op->starts[s + 1]; row++)
            for (size_t head = 0; head < op->heads; head++) {
                struct head_rows at = head_rows_of(op, (size_t)op->starts[s], row, head);
                attend_backward(op, &at, op->lse[row * op->heads + head]);
            }
}

/* Where position `position` of a sequence with these pages lies in a cache. */
static size_t cache_place(const int32_t *pages, size_t page, size_t position, size_t row_size)
{
    return ((size_t)pages[position / page] * page + position % page) * row_size;
}

void reference_cache_write(struct lm_backend *backend, const struct lm_cache_write *op)
{
    size_t size = op->kv_heads * op->width;
    for (size_t row = 0; row < op->rows; row++) {
        const int32_t *pages = op->pages + (size_t)op->sequence[row] * op->max_pages;
        size_t to = cache_place(pages, op->page, (size_t)op->positions[row], size);
        memcpy((float *)op->cache_k + to, (const float *)op->k + row * size, size * sizeof(float));
        memcpy((float *)op->cache_v + to, (const float *)op->v + row * size, size * sizeof(float));
    }
}

static void attend_paged(const struct lm_attention_paged *op, size_t row, size_t head, double *p)
{
    size_t size = op->kv_heads * op->width, count = (size_t)op->positions[row] + 1;
    size_t inside = head / (op->heads / op->kv_heads) * op->width;
    const int32_t *pages = op->pages + (size_t)op->sequence[row] * op->max_pages;
    const float *keys = (const float *)op->cache_k + inside;
    const float *values = (const float *)op->cache_v + inside;
    const float *q = (const float *)op->q + (row * op->heads + head) * op->width;
    float *y = (float *)op->y + (row * op->heads + head) * op->width;
    for (size_t j = 0; j < count; j++) {
        const float *k = keys + cache_place(pages, op->page, j, size);
        p[j] = (double)op->scale * reference_dot(q, 1, k, 1, op->width);
    }
    softmax(p, count);
    for (size_t i = 0; i < op->width; i++) {
        double sum = 0;
        for (size_t j = 0; j < count; j++)
            sum += p[j] * (double)values[cache_place(pages, op->page, j, size) + i];
        y[i] = (float)sum;
    }
}

void reference_attention_paged(struct lm_backend *backend, const struct lm_attention_paged *op)
{
    double *p = mem_alloc(op->max_pages * op->page * sizeof *p);
    for (size_t row = 0; row < op->rows; row++)
        for (size_t head = 0; head < op->heads; head++)
            attend_paged(op, row, head, p);
    mem_free(p);
}
