/* rows: the ops that work row by row or element by element: embed, rmsnorm, rope, swiglu, the
 * cache, and the optimiser's two. All are as fast as memory is, so a pool has few, large parts. */
#include "lm/cpu/cpu.h"

#include <math.h>
#include <string.h>

#define LINE 16                     /* floats of a cache line */
#define SUM_BLOCK ((size_t)1 << 16) /* elements of one partial sum, whatever the threads */

/* Every op here: its struct, and into how many parts it is cut. */
struct rows_work {
    const struct lm_cpu *cpu;
    const void *op;
    size_t parts;
    float *scratch;
};

static void run(struct lm_backend *backend, const void *op, size_t amount, lm_pool_task *task)
{
    size_t parts = lm_pool_parts(backend->threads, amount);
    lm_pool_run(lm_cpu_of(backend)->pool, parts, task,
                &(struct rows_work){.cpu = lm_cpu_of(backend), .op = op, .parts = parts});
}

static void embed_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_embed *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->rows, 1, work->parts, task);
    for (size_t r = part.first; r < part.first + part.count; r++)
        memcpy((float *)op->y + r * op->width,
               (const float *)op->table + (size_t)op->tokens[r] * op->width,
               op->width * sizeof(float));
}

void lm_cpu_embed(struct lm_backend *backend, const struct lm_embed *op)
{
    run(backend, op, op->rows * op->width, embed_task);
}

/* A token may stand in many rows, so parts are of the columns: rows add up in their order. */
static void embed_backward_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_embed *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->width, LINE, work->parts, task);
    for (size_t r = 0; r < op->rows; r++)
        work->cpu->loops->add(part.count, 1, (const float *)op->dy + r * op->width + part.first,
                              (float *)op->dtable + (size_t)op->tokens[r] * op->width + part.first);
}

void lm_cpu_embed_backward(struct lm_backend *backend, const struct lm_embed *op)
{
    if (op->dtable)
        run(backend, op, op->rows * op->width, embed_backward_task);
}

static void rmsnorm_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_rmsnorm *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->rows, LINE, work->parts, task);
    size_t at = part.first * op->width;
    work->cpu->loops->rmsnorm(part.count, op->width, op->epsilon, (const float *)op->x + at,
                              op->weight, (float *)op->y + at,
                              op->inverse ? op->inverse + part.first : NULL);
}

void lm_cpu_rmsnorm(struct lm_backend *backend, const struct lm_rmsnorm *op)
{
    run(backend, op, op->rows * op->width, rmsnorm_task);
}

static void rmsnorm_backward_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_rmsnorm *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->rows, 1, work->parts, task);
    size_t at = part.first * op->width;
    float *dweight = op->dweight ? work->scratch + task * lm_cpu_lines(op->width) : NULL;
    if (dweight)
        memset(dweight, 0, op->width * sizeof *dweight);
    work->cpu->loops->rmsnorm_backward(part.count, op->width, (const float *)op->x + at, op->weight,
                                       op->inverse + part.first, (const float *)op->dy + at,
                                       op->dx ? (float *)op->dx + at : NULL, op->add_dx, dweight);
}

void lm_cpu_rmsnorm_backward(struct lm_backend *backend, const struct lm_rmsnorm *op)
{
    struct lm_cpu *cpu = lm_cpu_of(backend);
    size_t parts = lm_pool_parts(backend->threads, op->rows * op->width);
    size_t stride = lm_cpu_lines(op->width);
    struct rows_work work = {.cpu = cpu, .op = op, .parts = parts};
    work.scratch = op->dweight ? lm_cpu_scratch(cpu, parts * stride) : NULL;
    lm_pool_run(cpu->pool, parts, rmsnorm_backward_task, &work);
    for (size_t i = 0; op->dweight && i < parts; i++)
        cpu->loops->add(op->width, 1, work.scratch + i * stride, op->dweight);
}

static void turn_rows(const struct rows_work *work, size_t task, float *x, float sign)
{
    const struct lm_rope *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->rows, 1, work->parts, task);
    for (size_t r = part.first; r < part.first + part.count; r++) {
        size_t at = (size_t)op->positions[r] * (op->width / 2);
        work->cpu->loops->rope(op->heads, op->width, op->cosine + at, op->sine + at, sign,
                               x + r * op->heads * op->width);
    }
}

static void rope_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    turn_rows(work, task, ((const struct lm_rope *)work->op)->x, 1);
}

static void rope_backward_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    turn_rows(work, task, ((const struct lm_rope *)work->op)->dx, -1);
}

void lm_cpu_rope(struct lm_backend *backend, const struct lm_rope *op)
{
    run(backend, op, op->rows * op->heads * op->width, rope_task);
}

void lm_cpu_rope_backward(struct lm_backend *backend, const struct lm_rope *op)
{
    if (op->dx)
        run(backend, op, op->rows * op->heads * op->width, rope_backward_task);
}

static void swiglu_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_swiglu *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->count, LINE, work->parts, task);
    work->cpu->loops->swiglu(part.count, (const float *)op->gate + part.first,
                             (const float *)op->up + part.first, (float *)op->y + part.first);
}

void lm_cpu_swiglu(struct lm_backend *backend, const struct lm_swiglu *op)
{
    run(backend, op, op->count, swiglu_task);
}

static void swiglu_backward_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_swiglu *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->count, LINE, work->parts, task);
    size_t at = part.first;
    work->cpu->loops->swiglu_backward(part.count, (const float *)op->gate + at,
                                      (const float *)op->up + at, (const float *)op->dy + at,
                                      (float *)op->dgate + at, (float *)op->dup + at);
}

void lm_cpu_swiglu_backward(struct lm_backend *backend, const struct lm_swiglu *op)
{
    run(backend, op, op->count, swiglu_backward_task);
}

static void cache_write_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_cache_write *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->rows, 1, work->parts, task);
    size_t row = op->kv_heads * op->width;
    for (size_t r = part.first; r < part.first + part.count; r++) {
        size_t position = (size_t)op->positions[r];
        size_t page = (size_t)
                          op->pages[(size_t)op->sequence[r] * op->max_pages + position / op->page];
        size_t to = (page * op->page + position % op->page) * row;
        memcpy((float *)op->cache_k + to, (const float *)op->k + r * row, row * sizeof(float));
        memcpy((float *)op->cache_v + to, (const float *)op->v + r * row, row * sizeof(float));
    }
}

void lm_cpu_cache_write(struct lm_backend *backend, const struct lm_cache_write *op)
{
    run(backend, op, 2 * op->rows * op->kv_heads * op->width, cache_write_task);
}

static void square_sum_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_square_sum *op = work->op;
    size_t first = task * SUM_BLOCK;
    size_t count = op->count - first < SUM_BLOCK ? op->count - first : SUM_BLOCK;
    ((double *)(void *)work->scratch)[task] = work->cpu->loops->square_sum(count,
                                                                           (const float *)op->x +
                                                                               first);
}

void lm_cpu_square_sum(struct lm_backend *backend, const struct lm_square_sum *op)
{
    struct lm_cpu *cpu = lm_cpu_of(backend);
    size_t blocks = (op->count + SUM_BLOCK - 1) / SUM_BLOCK;
    struct rows_work work = {.cpu = cpu, .op = op};
    work.scratch = lm_cpu_scratch(cpu, 2 * blocks);
    lm_pool_run(cpu->pool, blocks, square_sum_task, &work);
    double sum = 0;
    for (size_t i = 0; i < blocks; i++)
        sum += ((const double *)(const void *)work.scratch)[i];
    *op->sum = sum;
}

static void adamw_task(const void *data, size_t task, size_t thread)
{
    const struct rows_work *work = data;
    const struct lm_adamw *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->count, LINE, work->parts, task);
    size_t at = part.first;
    const struct lm_adamw_step step = {
        .rate = op->rate,
        .beta1 = op->beta1,
        .rest1 = 1 - op->beta1,
        .beta2 = op->beta2,
        .rest2 = 1 - op->beta2,
        .epsilon = op->epsilon,
        .decay = op->decay,
        .gradient_scale = op->gradient_scale,
        .inverse1 = (float)(1 / op->correction1),
        .inverse2_root = (float)(1 / sqrt(op->correction2)),
    };
    work->cpu->loops->adamw(part.count, &step, (const float *)op->gradient + at, op->m + at,
                            op->v + at, (float *)op->weight + at);
}

void lm_cpu_adamw(struct lm_backend *backend, const struct lm_adamw *op)
{
    run(backend, op, op->count, adamw_task);
}
