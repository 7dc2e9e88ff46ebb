/* attention: causal, within each packed sequence; blocks of queries by pieces of keys. */
#include "lm/cpu/attend.h"

#include <string.h>

/* Queries of one sequence. */
struct block {
    size_t start, first, rows; /* start: of the sequence, in the batch */
};

struct attention_work {
    const struct lm_cpu *cpu;
    const struct lm_attention *op;
    const struct block *blocks; /* forward */
    size_t parts;               /* of the sum of shared heads */
    float *scratch;
    size_t scratch_stride; /* of a thread */
    float *dk, *dv; /* [rows, heads, width]: the op's own, or scratch where heads share them */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A task is one head of a block. */
static void forward_task(const void *data, size_t task, size_t thread)
{
    const struct attention_work *work = data;
    const struct lm_attention *op = work->op;
    const struct block *block = &work->blocks[task / op->heads];
    size_t head = task % op->heads;
    size_t row = op->heads * op->width, kv_row = op->kv_heads * op->width;
    size_t kv = block->start * kv_row + head / (op->heads / op->kv_heads) * op->width;
    size_t at = block->first * row + head * op->width;
    struct attend attend = {.cpu = work->cpu,
                            .rows = block->rows,
                            .width = op->width,
                            .position = block->first - block->start,
                            .scale = op->scale,
                            .q = (const float *)op->q + at,
                            .y = (float *)op->y + at,
                            .stride = row};
    attend_begin(&attend, work->scratch + thread * work->scratch_stride);
    size_t keys = attend.position + attend.rows;
    for (size_t key = 0; key < keys; key += ATTEND_KEYS)
        attend_keys(&attend, key, least(keys - key, ATTEND_KEYS),
                    (const float *)op->k + kv + key * kv_row,
                    (const float *)op->v + kv + key * kv_row, kv_row);
    attend_end(&attend, op->lse ? op->lse + block->first * op->heads + head : NULL, op->heads);
}

static size_t find_blocks(const struct lm_attention *op, struct block *blocks)
{
    size_t count = 0;
    for (size_t s = 0; s < op->sequences; s++) {
        size_t start = (size_t)op->starts[s], end = (size_t)op->starts[s + 1];
        for (size_t first = start; first < end; first += ATTEND_ROWS)
            blocks[count++] = (struct block){start, first, least(end - first, ATTEND_ROWS)};
    }
    return count;
}

void lm_cpu_attention(struct lm_backend *backend, const struct lm_attention *op)
{
    struct lm_cpu *cpu = lm_cpu_of(backend);
    size_t own = backend->threads * ATTEND_SCRATCH;
    size_t blocks_max = op->rows / ATTEND_ROWS + op->sequences;
    struct attention_work work = {.cpu = cpu, .op = op, .scratch_stride = ATTEND_SCRATCH};
    work.scratch = lm_cpu_scratch(cpu, own + blocks_max * sizeof(struct block) / sizeof(float));
    struct block *blocks = (void *)(work.scratch + own);
    work.blocks = blocks;
    lm_pool_run(cpu->pool, find_blocks(op, blocks) * op->heads, forward_task, &work);
}

#define BACKWARD_SCRATCH (2 * ATTEND_ROWS * ATTEND_KEYS + ATTEND_ROWS)

/* One head of one sequence; arrays begin at its first row. */
struct head {
    const struct attention_work *work;
    const float *q, *k, *v, *y, *dy, *lse;
    float *dq, *dk, *dv;
    size_t width, row, kv_row, dkv_row; /* distances of rows */
    float *p, *dp, *deltas;             /* [ATTEND_ROWS, ATTEND_KEYS] twice, [ATTEND_ROWS] */
};

/* Queries `row` onwards by keys `key` onwards. */
struct piece {
    size_t row, rows, key, keys;
};

/* p: probabilities, from scores and lse; dp: gradients of the scores. */
static void piece_scores(const struct head *head, const struct piece *piece)
{
    const struct lm_loops *loops = head->work->cpu->loops;
    const struct lm_attention *op = head->work->op;
    struct matmul m = {.rows = piece->rows,
                       .columns = piece->keys,
                       .inner = head->width,
                       .a = head->q + piece->row * head->row,
                       .a_stride = head->row,
                       .b = head->k + piece->key * head->kv_row,
                       .b_stride = head->kv_row,
                       .b_turned = true,
                       .c = head->p,
                       .c_stride = ATTEND_KEYS,
                       .alpha = op->scale};
    blas_matmul(&head->work->cpu->blas, &m);
    m.a = head->dy + piece->row * head->row;
    m.b = head->v + piece->key * head->kv_row;
    m.c = head->dp;
    m.alpha = 1;
    blas_matmul(&head->work->cpu->blas, &m);
    for (size_t r = 0; r < piece->rows; r++) {
        float *p = head->p + r * ATTEND_KEYS, *dp = head->dp + r * ATTEND_KEYS;
        size_t visible = least(piece->row + r + 1 - piece->key, piece->keys);
        loops->exp_shifted(visible, head->lse[(piece->row + r) * op->heads], p);
        loops->softmax_backward(visible, head->deltas[r], op->scale, p, dp);
        memset(p + visible, 0, (piece->keys - visible) * sizeof *p);
        memset(dp + visible, 0, (piece->keys - visible) * sizeof *dp);
    }
}

/* dv += pᵀ·dy, dk += dpᵀ·q, dq += dp·k */
static void piece_gradients(const struct head *head, const struct piece *piece)
{
    const struct blas *blas = &head->work->cpu->blas;
    struct matmul m = {.rows = piece->keys,
                       .columns = head->width,
                       .inner = piece->rows,
                       .a = head->p,
                       .a_stride = ATTEND_KEYS,
                       .a_turned = true,
                       .b = head->dy + piece->row * head->row,
                       .b_stride = head->row,
                       .c = head->dv + piece->key * head->dkv_row,
                       .c_stride = head->dkv_row,
                       .alpha = 1,
                       .beta = 1};
    blas_matmul(blas, &m);
    m.a = head->dp;
    m.b = head->q + piece->row * head->row;
    m.c = head->dk + piece->key * head->dkv_row;
    blas_matmul(blas, &m);
    blas_matmul(blas, &(struct matmul){.rows = piece->rows,
                                       .columns = head->width,
                                       .inner = piece->keys,
                                       .a = head->dp,
                                       .a_stride = ATTEND_KEYS,
                                       .b = head->k + piece->key * head->kv_row,
                                       .b_stride = head->kv_row,
                                       .c = head->dq + piece->row * head->row,
                                       .c_stride = head->row,
                                       .alpha = 1,
                                       .beta = piece->key > 0 ? 1 : 0});
}

static void head_backward(const struct head *head, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        memset(head->dk + r * head->dkv_row, 0, head->width * sizeof(float));
        memset(head->dv + r * head->dkv_row, 0, head->width * sizeof(float));
    }
    for (size_t row = 0; row < count; row += ATTEND_ROWS) {
        struct piece piece = {.row = row, .rows = least(count - row, ATTEND_ROWS)};
        for (size_t r = 0; r < piece.rows; r++)
            head->deltas[r] = head->work->cpu->loops->dot(head->width,
                                                          head->dy + (row + r) * head->row,
                                                          head->y + (row + r) * head->row);
        for (size_t end = row + piece.rows; piece.key < end; piece.key += ATTEND_KEYS) {
            piece.keys = least(end - piece.key, ATTEND_KEYS);
            piece_scores(head, &piece);
            piece_gradients(head, &piece);
        }
    }
}

/* A task is one head of one sequence. */
static void backward_task(const void *data, size_t task, size_t thread)
{
    const struct attention_work *work = data;
    const struct lm_attention *op = work->op;
    size_t index = task % op->heads, sequence = task / op->heads;
    size_t start = (size_t)op->starts[sequence];
    bool shared = op->heads != op->kv_heads;
    struct head head = {.work = work,
                        .width = op->width,
                        .row = op->heads * op->width,
                        .kv_row = op->kv_heads * op->width};
    head.dkv_row = shared ? head.row : head.kv_row;
    size_t at = start * head.row + index * op->width;
    size_t kv = start * head.kv_row + index / (op->heads / op->kv_heads) * op->width;
    head.q = (const float *)op->q + at;
    head.k = (const float *)op->k + kv;
    head.v = (const float *)op->v + kv;
    head.y = (const float *)op->y + at;
    head.dy = (const float *)op->dy + at;
    head.lse = op->lse + start * op->heads + index;
    head.dq = (float *)op->dq + at;
    head.dk = work->dk + (shared ? at : kv);
    head.dv = work->dv + (shared ? at : kv);
    head.p = work->scratch + thread * work->scratch_stride;
    head.dp = head.p + ATTEND_ROWS * ATTEND_KEYS;
    head.deltas = head.dp + ATTEND_ROWS * ATTEND_KEYS;
    head_backward(&head, (size_t)op->starts[sequence + 1] - start);
}

/* Heads that read one key and value: their gradients add up, in order. */
static void sum_task(const void *data, size_t task, size_t thread)
{
    const struct attention_work *work = data;
    const struct lm_attention *op = work->op;
    size_t group = op->heads / op->kv_heads, width = op->width;
    struct lm_pool_range part = lm_pool_cut(op->rows * op->kv_heads, 1, work->parts, task);
    for (size_t i = part.first; i < part.first + part.count; i++) {
        const float *from[] = {work->dk + i * group * width, work->dv + i * group * width};
        float *to[] = {(float *)op->dk + i * width, (float *)op->dv + i * width};
        for (int which = 0; which < 2; which++) {
            memcpy(to[which], from[which], width * sizeof(float));
            for (size_t h = 1; h < group; h++)
                work->cpu->loops->add(width, 1, from[which] + h * width, to[which]);
        }
    }
}

void lm_cpu_attention_backward(struct lm_backend *backend, const struct lm_attention *op)
{
    struct lm_cpu *cpu = lm_cpu_of(backend);
    bool shared = op->heads != op->kv_heads;
    size_t own = backend->threads * BACKWARD_SCRATCH;
    size_t all = lm_cpu_lines(op->rows * op->heads * op->width);
    struct attention_work work = {
        .cpu = cpu, .op = op, .scratch_stride = BACKWARD_SCRATCH, .dk = op->dk, .dv = op->dv};
    work.scratch = lm_cpu_scratch(cpu, own + (shared ? 2 * all : 0));
    if (shared) {
        work.dk = work.scratch + own;
        work.dv = work.dk + all;
    }
    lm_pool_run(cpu->pool, op->sequences * op->heads, backward_task, &work);
    if (shared) {
        work.parts = lm_pool_parts(backend->threads, 2 * op->rows * op->heads * op->width);
        lm_pool_run(cpu->pool, work.parts, sum_task, &work);
    }
}
