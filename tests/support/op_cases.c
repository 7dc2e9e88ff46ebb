#include "op_cases.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------- random arrays */

static uint32_t draw(struct op_run *run)
{
    run->state = run->state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(run->state >> 33);
}

static size_t below(struct op_run *run, size_t bound)
{
    return draw(run) % bound;
}

/* Sum of four: near enough to normal, deviation 1. */
static float draw_normal(struct op_run *run)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += draw(run) * 0x1p-31;
    return (float)((sum - 2) * 1.7320508);
}

static void *put(struct op_run *run, const char *name, const void *values, size_t bytes, bool whole)
{
    assert_true(run->count < OP_ARRAYS_MAX);
    void *memory = run->backend->alloc(run->backend, bytes);
    assert_non_null(memory);
    run->backend->upload(run->backend, memory, values, bytes);
    run->arrays[run->count++] = (struct op_array){name, memory, bytes, whole};
    return memory;
}

static float *floats(struct op_run *run, const char *name, size_t count, float scale)
{
    float *values = mem_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = draw_normal(run) * scale;
    float *memory = put(run, name, values, count * sizeof *values, false);
    mem_free(values);
    return memory;
}

static int32_t *indices(struct op_run *run, const char *name, size_t count, size_t bound)
{
    int32_t *values = mem_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (int32_t)below(run, bound);
    int32_t *memory = put(run, name, values, count * sizeof *values, true);
    mem_free(values);
    return memory;
}

/* ----------------------------------------------------------------------------------- the ops */

static void run_embed(struct op_run *run, const size_t *size)
{
    size_t rows = size[0], width = size[1], vocab = size[2];
    struct lm_embed op = {.rows = rows,
                          .width = width,
                          .tokens = indices(run, "tokens", rows, vocab),
                          .table = floats(run, "table", vocab * width, 1),
                          .y = floats(run, "y", rows * width, 1),
                          .dy = floats(run, "dy", rows * width, 1),
                          .dtable = floats(run, "dtable", vocab * width, 1)};
    run->backend->ops->embed.forward(run->backend, &op);
    run->backend->ops->embed.backward(run->backend, &op);
}

/* rows, width; add_dx; frozen */
static void run_rmsnorm(struct op_run *run, const size_t *size)
{
    size_t rows = size[0], width = size[1];
    struct lm_rmsnorm op = {.rows = rows,
                            .width = width,
                            .epsilon = 1e-6F,
                            .x = floats(run, "x", rows * width, 1),
                            .weight = floats(run, "weight", width, 1),
                            .y = floats(run, "y", rows * width, 1),
                            .inverse = floats(run, "inverse", rows, 1),
                            .dy = floats(run, "dy", rows * width, 1),
                            .dx = floats(run, "dx", rows * width, 1),
                            .add_dx = size[2] != 0,
                            .dweight = size[3] ? NULL : floats(run, "dweight", width, 1)};
    run->backend->ops->rmsnorm.forward(run->backend, &op);
    run->backend->ops->rmsnorm.backward(run->backend, &op);
    op.dx = NULL;
    run->backend->ops->rmsnorm.backward(run->backend, &op);
}

/* rows, in, out; bias; addend (2: it is y); add_dx */
static void run_linear(struct op_run *run, const size_t *size)
{
    size_t rows = size[0], in = size[1], out = size[2];
    struct lm_linear op = {.rows = rows,
                           .in = in,
                           .out = out,
                           .scale = 0.7F,
                           .x = floats(run, "x", rows * in, 1),
                           .weight = floats(run, "weight", out * in, 1),
                           .bias = size[3] ? floats(run, "bias", out, 1) : NULL,
                           .y = floats(run, "y", rows * out, 1),
                           .dy = floats(run, "dy", rows * out, 1),
                           .dx = floats(run, "dx", rows * in, 1),
                           .add_dx = size[5] != 0,
                           .dweight = floats(run, "dweight", out * in, 1),
                           .dbias = size[3] ? floats(run, "dbias", out, 1) : NULL};
    if (size[4])
        op.addend = size[4] == 2 ? op.y : floats(run, "addend", rows * out, 1);
    run->backend->ops->linear.forward(run->backend, &op);
    run->backend->ops->linear.backward(run->backend, &op);
    op.dx = op.dweight = op.dbias = NULL;
    run->backend->ops->linear.backward(run->backend, &op);
}

/* rows, heads, width */
static void run_rope(struct op_run *run, const size_t *size)
{
    size_t rows = size[0], count = rows * size[1] * size[2], positions = 50;
    struct lm_rope op = {.rows = rows,
                         .heads = size[1],
                         .width = size[2],
                         .positions = indices(run, "positions", rows, positions),
                         .cosine = floats(run, "cosine", positions * size[2] / 2, 1),
                         .sine = floats(run, "sine", positions * size[2] / 2, 1),
                         .x = floats(run, "x", count, 1),
                         .dx = floats(run, "dx", count, 1)};
    run->backend->ops->rope.forward(run->backend, &op);
    run->backend->ops->rope.backward(run->backend, &op);
}

/* Lengths in 1..2·average that add up to what *rows becomes. */
static int32_t *draw_starts(struct op_run *run, size_t sequences, size_t longest, size_t *rows)
{
    int32_t *starts = mem_alloc((sequences + 1) * sizeof *starts);
    for (size_t s = 0; s < sequences; s++)
        starts[s + 1] = starts[s] +
                        (int32_t)(s == sequences / 2 ? longest : 1 + below(run, longest));
    *rows = (size_t)starts[sequences];
    int32_t *memory = put(run, "starts", starts, (sequences + 1) * sizeof *starts, true);
    mem_free(starts);
    return memory;
}

/* sequences, longest, heads, kv_heads, width */
static void run_attention(struct op_run *run, const size_t *size)
{
    size_t rows, heads = size[2], kv_heads = size[3], width = size[4];
    int32_t *starts = draw_starts(run, size[0], size[1], &rows);
    size_t of_q = rows * heads * width, of_k = rows * kv_heads * width;
    struct lm_attention op = {.rows = rows,
                              .sequences = size[0],
                              .heads = heads,
                              .kv_heads = kv_heads,
                              .width = width,
                              .longest = size[1],
                              .scale = 1 / sqrtf((float)width),
                              .starts = starts,
                              .q = floats(run, "q", of_q, 2),
                              .k = floats(run, "k", of_k, 2),
                              .v = floats(run, "v", of_k, 1),
                              .y = floats(run, "y", of_q, 1),
                              .lse = floats(run, "lse", rows * heads, 1),
                              .dy = floats(run, "dy", of_q, 1),
                              .dq = floats(run, "dq", of_q, 1),
                              .dk = floats(run, "dk", of_k, 1),
                              .dv = floats(run, "dv", of_k, 1)};
    run->backend->ops->attention.forward(run->backend, &op);
    run->backend->ops->attention.backward(run->backend, &op);
}

/* The rows of one step: some sequences decode one, some have a piece of a prompt. */
struct step {
    int32_t *sequence, *positions;
    size_t rows;
};

static struct step draw_step(struct op_run *run, size_t sequences, size_t new_rows, size_t longest)
{
    struct step step = {0};
    step.sequence = mem_alloc(sequences * new_rows * sizeof(int32_t));
    step.positions = mem_alloc(sequences * new_rows * sizeof(int32_t));
    for (size_t s = 0; s < sequences; s++) {
        size_t rows = s % 2 ? 1 : new_rows, first = below(run, longest - rows + 1);
        for (size_t r = 0; r < rows; r++, step.rows++) {
            step.sequence[step.rows] = (int32_t)s;
            step.positions[step.rows] = (int32_t)(first + r);
        }
    }
    return step;
}

/* sequences, rows of a prompt's piece, longest, heads, kv_heads, width, page */
static void run_paged(struct op_run *run, const size_t *size)
{
    size_t longest = size[2], heads = size[3], kv_heads = size[4], width = size[5];
    size_t page = size[6], max_pages = (longest + page - 1) / page, all = size[0] * max_pages;
    struct step step = draw_step(run, size[0], size[1], longest);
    int32_t *pages = mem_alloc(all * sizeof *pages);
    for (size_t i = 0; i < all; i++) {
        size_t j = below(run, i + 1);
        pages[i] = pages[j];
        pages[j] = (int32_t)i;
    }
    size_t rows = step.rows, of_cache = all * page * kv_heads * width;
    struct lm_cache_write write = {.rows = rows,
                                   .kv_heads = kv_heads,
                                   .width = width,
                                   .page = page,
                                   .max_pages = max_pages,
                                   .sequence = put(run, "sequence", step.sequence,
                                                   rows * sizeof(int32_t), true),
                                   .positions = put(run, "positions", step.positions,
                                                    rows * sizeof(int32_t), true),
                                   .pages = put(run, "pages", pages, all * sizeof *pages, true),
                                   .k = floats(run, "k", rows * kv_heads * width, 2),
                                   .v = floats(run, "v", rows * kv_heads * width, 1),
                                   .cache_k = floats(run, "cache_k", of_cache, 2),
                                   .cache_v = floats(run, "cache_v", of_cache, 1)};
    struct lm_attention_paged op = {.rows = rows,
                                    .heads = heads,
                                    .kv_heads = kv_heads,
                                    .width = width,
                                    .page = page,
                                    .max_pages = max_pages,
                                    .scale = 1 / sqrtf((float)width),
                                    .sequence = write.sequence,
                                    .positions = write.positions,
                                    .pages = write.pages,
                                    .q = floats(run, "q", rows * heads * width, 2),
                                    .cache_k = write.cache_k,
                                    .cache_v = write.cache_v,
                                    .y = floats(run, "y", rows * heads * width, 1)};
    run->backend->ops->cache_write.forward(run->backend, &write);
    run->backend->ops->attention_paged.forward(run->backend, &op);
    mem_free(step.sequence);
    mem_free(step.positions);
    mem_free(pages);
}

/* count; in place */
static void run_swiglu(struct op_run *run, const size_t *size)
{
    float *gate = floats(run, "gate", size[0], 4), *up = floats(run, "up", size[0], 1);
    struct lm_swiglu op = {.count = size[0],
                           .gate = gate,
                           .up = up,
                           .y = floats(run, "y", size[0], 1),
                           .dy = floats(run, "dy", size[0], 1),
                           .dgate = size[1] ? gate : floats(run, "dgate", size[0], 1),
                           .dup = size[1] ? up : floats(run, "dup", size[0], 1)};
    run->backend->ops->swiglu.forward(run->backend, &op);
    run->backend->ops->swiglu.backward(run->backend, &op);
    op.y = size[1] ? gate : op.y;
    run->backend->ops->swiglu.forward(run->backend, &op);
}

/* rows, width, vocab, targets; entropy; frozen head */
static void run_logprob(struct op_run *run, const size_t *size)
{
    size_t rows = size[0], width = size[1], vocab = size[2], targets = size[3];
    struct lm_logprob op = {.rows = rows,
                            .width = width,
                            .vocab = vocab,
                            .targets_per_row = targets,
                            .temperature = 0.8F,
                            .x = floats(run, "x", rows * width, 1),
                            .weight = floats(run, "weight", vocab * width, 2 / sqrtf((float)width)),
                            .targets = indices(run, "targets", rows * targets, vocab),
                            .logits = floats(run, NULL, rows * vocab, 1),
                            .lse = floats(run, "lse", rows, 1),
                            .logprob = floats(run, "logprob", rows * targets, 1),
                            .entropy = size[4] ? floats(run, "entropy", rows, 1) : NULL,
                            .collision = size[4] ? floats(run, "collision", rows, 1) : NULL,
                            .dlogprob = floats(run, "dlogprob", rows * targets, 1),
                            .dentropy = size[4] ? floats(run, "dentropy", rows, 1) : NULL,
                            .dx = floats(run, "dx", rows * width, 1),
                            .dweight = size[5] ? NULL : floats(run, "dweight", vocab * width, 1)};
    run->backend->ops->logprob.forward(run->backend, &op);
    run->backend->ops->logprob.backward(run->backend, &op);
}

static void run_square_sum(struct op_run *run, const size_t *size)
{
    double nothing = -1;
    struct lm_square_sum op = {.count = size[0], .x = floats(run, "x", size[0], 1)};
    op.sum = run->backend->alloc(run->backend, sizeof nothing);
    run->backend->ops->square_sum.forward(run->backend, &op);
    run->backend->download(run->backend, &nothing, op.sum, sizeof nothing);
    run->backend->free(run->backend, op.sum);
    float sum = (float)nothing;
    put(run, "sum", &sum, sizeof sum, false);
}

static void run_adamw(struct op_run *run, const size_t *size)
{
    size_t count = size[0];
    struct lm_adamw op = {.count = count,
                          .weight = floats(run, "weight", count, 1),
                          .gradient = floats(run, "gradient", count, 1),
                          .m = floats(run, "m", count, 0.1F),
                          .v = floats(run, "v", count, 0),
                          .rate = 1e-2F,
                          .beta1 = 0.9F,
                          .beta2 = 0.95F,
                          .epsilon = 1e-8F,
                          .decay = 0.1F,
                          .gradient_scale = 0.5F};
    for (int step = 1; step <= 3; step++) {
        op.correction1 = 1 - pow(0.9, step);
        op.correction2 = 1 - pow(0.95, step);
        run->backend->ops->adamw.forward(run->backend, &op);
    }
}

/* ----------------------------------------------------------------------------------- the table */

const struct op_case op_cases[] = {
    {"embed", run_embed, 1e-6, {1, 1, 1}},
    {"embed", run_embed, 1e-6, {63, 17, 5}},
    {"embed, in parts", run_embed, 1e-6, {257, 257, 63}},
    {"rmsnorm", run_rmsnorm, 2e-5, {1, 1}},
    {"rmsnorm", run_rmsnorm, 2e-5, {3, 17, 1}},
    {"rmsnorm, of heads", run_rmsnorm, 2e-5, {3000, 16}},
    {"rmsnorm, in parts", run_rmsnorm, 2e-5, {257, 257, 1}},
    {"rmsnorm, frozen", run_rmsnorm, 2e-5, {63, 64, 0, 1}},
    {"linear", run_linear, 1e-5, {1, 1, 1}},
    {"linear", run_linear, 1e-5, {1, 63, 257, 1, 1}},
    {"linear", run_linear, 1e-5, {3, 17, 3, 1, 2, 1}},
    {"linear, few rows in parts", run_linear, 1e-5, {7, 257, 257, 1, 2}},
    {"linear, few rows", run_linear, 1e-5, {16, 63, 65, 0, 1, 1}},
    {"linear", run_linear, 1e-5, {17, 1, 63}},
    {"linear", run_linear, 1e-5, {63, 257, 17, 1}},
    {"linear, in parts", run_linear, 1e-5, {257, 129, 63, 1, 1, 1}},
    {"linear, in parts", run_linear, 1e-5, {65, 63, 1025, 1, 2}},
    {"linear, of an adapter", run_linear, 1e-5, {300, 256, 8, 0, 0, 1}},
    {"rope", run_rope, 1e-6, {1, 1, 2}},
    {"rope", run_rope, 1e-6, {17, 3, 34}},
    {"rope, in parts", run_rope, 1e-6, {257, 3, 64}},
    {"attention", run_attention, 3e-5, {1, 1, 1, 1, 1}},
    {"attention", run_attention, 3e-5, {9, 17, 3, 3, 17}},
    {"attention, shared keys", run_attention, 3e-5, {5, 63, 6, 2, 16}},
    {"attention, one key", run_attention, 3e-5, {3, 130, 7, 1, 8}},
    {"attention, several pieces", run_attention, 3e-5, {2, 1100, 2, 1, 17}},
    {"paged, decoding", run_paged, 3e-5, {1, 1, 1, 1, 1, 1, 16}},
    {"paged, decoding", run_paged, 3e-5, {7, 1, 63, 6, 2, 17, 3}},
    {"paged, decoding over several pieces", run_paged, 3e-5, {3, 1, 1300, 3, 3, 16, 17}},
    {"paged, prompts", run_paged, 3e-5, {5, 17, 63, 4, 4, 16, 16}},
    {"paged, long prompts", run_paged, 3e-5, {3, 150, 700, 6, 3, 17, 16}},
    {"paged, a page beyond a piece", run_paged, 3e-5, {3, 9, 1300, 2, 1, 16, 600}},
    {"swiglu", run_swiglu, 1e-5, {1}},
    {"swiglu", run_swiglu, 1e-5, {257, 1}},
    {"swiglu, in parts", run_swiglu, 1e-5, {70001}},
    {"logprob", run_logprob, 3e-5, {1, 1, 3, 1}},
    {"logprob", run_logprob, 3e-5, {17, 63, 257, 1, 1}},
    {"logprob, several pieces and parts", run_logprob, 3e-5, {19, 17, 5001, 1, 1}},
    {"logprob, soft targets", run_logprob, 3e-5, {63, 17, 63, 3, 1, 1}},
    {"square_sum", run_square_sum, 1e-6, {1}},
    {"square_sum", run_square_sum, 1e-6, {200003}},
    {"adamw", run_adamw, 1e-6, {17}},
    {"adamw, in parts", run_adamw, 1e-6, {70001}},
    {0},
};

/* ------------------------------------------------------------------------------ runs, compared */

void op_run_init(struct op_run *run, struct lm_backend *backend, const struct op_case *row)
{
    struct err err;
    *run = (struct op_run){.backend = backend, .state = 1 + row->size[0]};
    row->run(run, row->size);
    if (backend->wait(backend, &err) < 0)
        fail_msg("%s: %s", row->name, err.text);
}

void op_run_deinit(struct op_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        run->backend->free(run->backend, run->arrays[i].memory);
}

static float *fetch(const struct op_run *run, size_t index)
{
    const struct op_array *array = &run->arrays[index];
    float *values = mem_alloc(array->bytes);
    run->backend->download(run->backend, values, array->memory, array->bytes);
    return values;
}

/* -1: none is too far off. */
static long first_far(const float *wanted, const float *got, size_t count, double bound)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (double)wanted[i] * (double)wanted[i];
    /* What was drawn is of size 1: sums that cancel keep its rounding. */
    double size = fmax(sqrt(squares / (double)count), 0.05);
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)wanted[i] - (double)got[i]) <= bound * (size + fabs((double)wanted[i]))))
            return (long)i;
    return -1;
}

void op_compare(const struct op_case *row, const struct op_run *wanted, const struct op_run *got,
                const char *who, double bound)
{
    assert_int_equal(wanted->count, got->count);
    for (size_t i = 0; i < wanted->count; i++) {
        const struct op_array *array = &wanted->arrays[i];
        if (!array->name)
            continue;
        float *a = fetch(wanted, i), *b = fetch(got, i);
        bool exact = array->whole_numbers || bound == 0;
        long far = -1;
        if (exact && memcmp(a, b, array->bytes) != 0)
            fail_msg("%s %zu x %zu x %zu, %s: %s differs", row->name, row->size[0], row->size[1],
                     row->size[2], who, array->name);
        if (!exact)
            far = first_far(a, b, array->bytes / sizeof(float), bound);
        if (far >= 0)
            fail_msg("%s %zu x %zu x %zu, %s: %s[%ld] is %.9g, not %.9g", row->name, row->size[0],
                     row->size[1], row->size[2], who, array->name, far, (double)b[far],
                     (double)a[far]);
        mem_free(a);
        mem_free(b);
    }
}
