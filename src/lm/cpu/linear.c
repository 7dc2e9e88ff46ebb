/* linear: many rows go to OpenBLAS; few rows (decoding) read each weight once, at memory's speed.
 * Where the backend is to be invariant, one loop does both. */
#include "lm/cpu/cpu.h"

#include <string.h>

/* Up to so many rows reading the weights is what takes the time, and packing them as OpenBLAS does
 * takes more of it; and then as long as x stays in the second cache. */
#define FEW_ROWS 8
#define SOME_ROWS 64
#define SOME_ELEMENTS ((size_t)1 << 16)

struct linear_work {
    const struct lm_cpu *cpu;
    const struct lm_linear *op;
    struct matmul matmul;
    size_t parts;
    float *sums; /* of few rows, [rows, out] */
};

/* What the product is added to. */
static void fill_block(const struct linear_work *work, const struct matmul *block, size_t column)
{
    const struct lm_linear *op = work->op;
    size_t row = (size_t)(block->a - (const float *)op->x) / op->in;
    for (size_t r = 0; r < block->rows; r++) {
        float *y = block->c + r * block->c_stride;
        if (!op->addend)
            memset(y, 0, block->columns * sizeof *y);
        else if (op->addend != op->y)
            memcpy(y, (const float *)op->addend + (row + r) * op->out + column,
                   block->columns * sizeof *y);
        if (op->bias)
            work->cpu->loops->add(block->columns, op->scale, (const float *)op->bias + column, y);
    }
}

static void forward_task(const void *data, size_t task, size_t thread)
{
    const struct linear_work *work = data;
    struct matmul block = matmul_part(&work->matmul, work->cpu->backend.threads, task);
    if (work->op->bias || (work->op->addend && work->op->addend != work->op->y))
        fill_block(work, &block, (size_t)(block.b - work->matmul.b) / block.b_stride);
    blas_matmul(&work->cpu->blas, &block);
}

/* In blocks of rows that stay in the second cache. */
static void multiply_alike(const struct linear_work *work, struct lm_pool_range part)
{
    const struct lm_linear *op = work->op;
    size_t block = SOME_ELEMENTS / op->in / 4 * 4;
    block = block < 4 ? 4 : block;
    for (size_t row = 0, count; row < op->rows; row += count) {
        count = op->rows - row < block ? op->rows - row : block;
        work->cpu->loops->rows_alike(count, op->in, part.count, (const float *)op->x + row * op->in,
                                     op->in, (const float *)op->weight + part.first * op->in,
                                     op->in, work->sums + row * op->out + part.first, op->out);
    }
}

static void few_task(const void *data, size_t task, size_t thread)
{
    const struct linear_work *work = data;
    const struct lm_linear *op = work->op;
    const float *bias = op->bias, *addend = op->addend;
    struct lm_pool_range part = lm_pool_cut(op->out, 16, work->parts, task);
    if (work->cpu->backend.invariant)
        multiply_alike(work, part);
    else
        work->cpu->loops->rows_by_rows(op->rows, op->in, part.count, op->x, op->in,
                                       (const float *)op->weight + part.first * op->in, op->in,
                                       work->sums + part.first, op->out);
    if (!bias && !addend && op->scale == 1)
        return;
    for (size_t r = 0; r < op->rows; r++)
        for (size_t o = part.first; o < part.first + part.count; o++) {
            size_t at = r * op->out + o;
            float sum = work->sums[at] + (bias ? bias[o] : 0);
            ((float *)op->y)[at] = op->scale * sum + (addend ? addend[at] : 0);
        }
}

void lm_cpu_linear(struct lm_backend *backend, const struct lm_linear *op)
{
    struct lm_cpu *cpu = lm_cpu_of(backend);
    struct linear_work work = {.cpu = cpu, .op = op};
    if (backend->invariant || op->rows <= FEW_ROWS ||
        (op->rows <= SOME_ROWS && op->rows * op->in <= SOME_ELEMENTS)) {
        work.parts = lm_pool_parts(backend->threads, op->in * op->out);
        bool in_place = op->addend != op->y;
        work.sums = in_place ? op->y : lm_cpu_scratch(cpu, op->rows * op->out);
        lm_pool_run(cpu->pool, work.parts, few_task, &work);
        return;
    }
    work.matmul = (struct matmul){.rows = op->rows,
                                  .columns = op->out,
                                  .inner = op->in,
                                  .a = op->x,
                                  .a_stride = op->in,
                                  .b = op->weight,
                                  .b_stride = op->in,
                                  .b_turned = true,
                                  .c = op->y,
                                  .c_stride = op->out,
                                  .alpha = op->scale,
                                  .beta = op->bias || op->addend ? 1 : 0};
    lm_pool_run(cpu->pool, matmul_tasks(&work.matmul, backend->threads), forward_task, &work);
}

static void bias_task(const void *data, size_t task, size_t thread)
{
    const struct linear_work *work = data;
    const struct lm_linear *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->out, 16, work->parts, task);
    for (size_t r = 0; r < op->rows; r++)
        work->cpu->loops->add(part.count, op->scale,
                              (const float *)op->dy + r * op->out + part.first,
                              (float *)op->dbias + part.first);
}

void lm_cpu_linear_backward(struct lm_backend *backend, const struct lm_linear *op)
{
    const struct lm_cpu *cpu = lm_cpu_of(backend);
    struct linear_work work = {.cpu = cpu, .op = op};
    if (op->dx)
        blas_matmul_pool(&cpu->blas, cpu->pool, backend->threads,
                         &(struct matmul){.rows = op->rows,
                                          .columns = op->in,
                                          .inner = op->out,
                                          .a = op->dy,
                                          .a_stride = op->out,
                                          .b = op->weight,
                                          .b_stride = op->in,
                                          .c = op->dx,
                                          .c_stride = op->in,
                                          .alpha = op->scale,
                                          .beta = op->add_dx ? 1 : 0});
    if (op->dweight)
        blas_matmul_pool(&cpu->blas, cpu->pool, backend->threads,
                         &(struct matmul){.rows = op->out,
                                          .columns = op->in,
                                          .inner = op->rows,
                                          .a = op->dy,
                                          .a_stride = op->out,
                                          .a_turned = true,
                                          .b = op->x,
                                          .b_stride = op->in,
                                          .c = op->dweight,
                                          .c_stride = op->in,
                                          .alpha = op->scale,
                                          .beta = 1});
    if (op->dbias) {
        work.parts = lm_pool_parts(backend->threads, op->rows * op->out);
        lm_pool_run(cpu->pool, work.parts, bias_task, &work);
    }
}
