/* paged: attention over the sampler's cache. A row that stands alone (decoding) reads its keys
 * where they lie; many rows of one sequence (a prompt) have them gathered, a piece at a time, for
 * the blocks of lm/cpu/attend.h. */
#include "lm/cpu/attend.h"

#include <string.h>

/* From so many rows on gathering pays. Its sums depend on which rows are together, so an invariant
 * backend does without. */
#define RUN_LEAST 8

/* Neighbouring rows of one sequence. */
struct run {
    size_t row, rows;
};

struct paged_work {
    const struct lm_cpu *cpu;
    const struct lm_attention_paged *op;
    const struct run *runs;
    float *scratch;
    size_t scratch_stride; /* of a thread */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Where the cache has `position` of a row's sequence, for the first head. */
static size_t cache_place(const struct lm_attention_paged *op, size_t row, size_t position)
{
    const int32_t *pages = op->pages + (size_t)op->sequence[row] * op->max_pages;
    size_t page = (size_t)pages[position / op->page];
    return (page * op->page + position % op->page) * op->kv_heads * op->width;
}

/* How many of `count` keys from `position` on lie behind one another. */
static size_t neighbours(const struct lm_attention_paged *op, size_t position, size_t count)
{
    return least(op->page - position % op->page, count);
}

/* Scores of one piece of keys, and then its values. */
static void piece_alone(struct attend *attend, const struct lm_attention_paged *op, size_t row,
                        size_t kv_head, size_t first, size_t count)
{
    const struct lm_loops *loops = attend->cpu->loops;
    size_t width = op->width, kv_row = op->kv_heads * width;
    const float *k = (const float *)op->cache_k + kv_head * width;
    const float *v = (const float *)op->cache_v + kv_head * width;
    for (size_t i = 0, n; i < count; i += n) {
        n = neighbours(op, first + i, count - i);
        loops->rows_by_rows(attend->rows, width, n, attend->q, width,
                            k + cache_place(op, row, first + i), kv_row, attend->scores + i,
                            ATTEND_KEYS);
    }
    for (size_t r = 0; r < attend->rows; r++)
        loops->scale(count, op->scale, attend->scores + r * ATTEND_KEYS);
    attend_softmax(attend, first, count);
    for (size_t i = 0, n; i < count; i += n) {
        n = neighbours(op, first + i, count - i);
        for (size_t r = 0; r < attend->rows; r++)
            loops->mix(n, width, attend->scores + r * ATTEND_KEYS + i,
                       v + cache_place(op, row, first + i), kv_row, attend->y + r * width);
    }
}

/* Query heads that share a key are the rows of the block; all of them see all keys. */
static void row_alone(const struct paged_work *work, size_t row, size_t kv_head, float *scratch)
{
    const struct lm_attention_paged *op = work->op;
    size_t group = op->heads / op->kv_heads, width = op->width;
    size_t keys = (size_t)op->positions[row] + 1, at = (row * op->heads + kv_head * group) * width;
    for (size_t done = 0; done < group; done += ATTEND_ROWS) {
        struct attend attend = {.cpu = work->cpu,
                                .rows = least(group - done, ATTEND_ROWS),
                                .width = width,
                                .position = keys,
                                .q = (const float *)op->q + at + done * width,
                                .y = (float *)op->y + at + done * width,
                                .stride = width};
        attend_begin(&attend, scratch);
        memset(attend.y, 0, attend.rows * width * sizeof(float));
        for (size_t first = 0; first < keys; first += ATTEND_KEYS)
            piece_alone(&attend, op, row, kv_head, first, least(keys - first, ATTEND_KEYS));
        attend_end(&attend, NULL, 0);
    }
}

static void gather(const struct lm_attention_paged *op, size_t row, size_t kv_head, size_t first,
                   size_t count, float *k, float *v)
{
    for (size_t i = 0; i < count; i++) {
        size_t from = cache_place(op, row, first + i) + kv_head * op->width;
        memcpy(k + i * op->width, (const float *)op->cache_k + from, op->width * sizeof *k);
        memcpy(v + i * op->width, (const float *)op->cache_v + from, op->width * sizeof *v);
    }
}

static void rows_together(const struct paged_work *work, const struct run *run, size_t kv_head,
                          float *scratch)
{
    const struct lm_attention_paged *op = work->op;
    size_t group = op->heads / op->kv_heads, position = (size_t)op->positions[run->row];
    float *k = scratch + ATTEND_SCRATCH, *v = k + ATTEND_KEYS * op->width;
    for (size_t h = kv_head * group; h < (kv_head + 1) * group; h++) {
        size_t at = (run->row * op->heads + h) * op->width, keys = position + run->rows;
        struct attend attend = {.cpu = work->cpu,
                                .rows = run->rows,
                                .width = op->width,
                                .position = position,
                                .scale = op->scale,
                                .q = (const float *)op->q + at,
                                .y = (float *)op->y + at,
                                .stride = op->heads * op->width};
        attend_begin(&attend, scratch);
        for (size_t first = 0; first < keys; first += ATTEND_KEYS) {
            size_t count = least(keys - first, ATTEND_KEYS);
            gather(op, run->row, kv_head, first, count, k, v);
            attend_keys(&attend, first, count, k, v, op->width);
        }
        attend_end(&attend, NULL, 0);
    }
}

/* A task is a run and the query heads of one key. */
static void paged_task(const void *data, size_t task, size_t thread)
{
    const struct paged_work *work = data;
    const struct run *run = &work->runs[task / work->op->kv_heads];
    size_t kv_head = task % work->op->kv_heads;
    float *scratch = work->scratch + thread * work->scratch_stride;
    if (run->rows >= RUN_LEAST && !work->cpu->backend.invariant)
        rows_together(work, run, kv_head, scratch);
    else
        for (size_t r = 0; r < run->rows; r++)
            row_alone(work, run->row + r, kv_head, scratch);
}

static size_t find_runs(const struct lm_attention_paged *op, struct run *runs)
{
    size_t count = 0;
    for (size_t row = 0; row < op->rows; row++) {
        struct run *last = count > 0 ? &runs[count - 1] : NULL;
        if (last && op->sequence[row] == op->sequence[row - 1] && last->rows < ATTEND_ROWS)
            last->rows++;
        else
            runs[count++] = (struct run){.row = row, .rows = 1};
    }
    return count;
}

void lm_cpu_attention_paged(struct lm_backend *backend, const struct lm_attention_paged *op)
{
    struct lm_cpu *cpu = lm_cpu_of(backend);
    size_t stride = lm_cpu_lines(ATTEND_SCRATCH + 2 * ATTEND_KEYS * op->width);
    size_t listed = op->rows * sizeof(struct run) / sizeof(float), read = 0;
    float *scratch = lm_cpu_scratch(cpu, backend->threads * stride + listed);
    struct run *runs = (void *)(scratch + backend->threads * stride);
    struct paged_work work = {
        .cpu = cpu, .op = op, .runs = runs, .scratch = scratch, .scratch_stride = stride};
    size_t count = find_runs(op, runs);
    for (size_t row = 0; row < op->rows; row++)
        read += ((size_t)op->positions[row] + 1) * op->heads * op->width;
    bool small = lm_pool_parts(backend->threads, read) == 1;
    lm_pool_run(small ? NULL : cpu->pool, count * op->kv_heads, paged_task, &work);
}
