#include "lm_op_cases.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/random.h"
#include "lm/model/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What one case is: `sizes` and `flags` mean what its maker reads from them. */
struct row {
    const char *op, *variant;
    void (*make)(struct lm_op_case *c, int flags);
    size_t sizes[LM_OP_SIZES];
    int flags;
};

/* Between -1 and 1. */
static double noise(const struct lm_op_case *c, size_t i)
{
    uint64_t place = c->count * 1000003 + i + c->sizes[0] * 31 + c->sizes[1];
    return (double)(int32_t)(random_mix(place * RANDOM_GOLDEN) >> 32) * 0x1p-31;
}

/* Values around `middle`, rounded to what every element type holds. */
static struct lm_op_array *add(struct lm_op_case *c, const char *name, enum lm_op_type type,
                               int flags, const char *partner, size_t count)
{
    struct lm_op_array *array = &c->arrays[c->count++];
    if (c->count > LM_OP_ARRAYS)
        abort();
    *array = (struct lm_op_array){.name = name,
                                  .type = type,
                                  .flags = flags,
                                  .partner = partner,
                                  .count = count,
                                  .start = mem_alloc(count * sizeof(double)),
                                  .found = mem_alloc(count * sizeof(double))};
    for (size_t i = 0; i < count; i++)
        array->start[i] = type == LM_OP_INDEX ? 0 : round(noise(c, i) * 128) / 64;
    return array;
}

static void add_element(struct lm_op_case *c, const char *name, size_t count)
{
    add(c, name, LM_OP_ELEMENT, 0, NULL, count);
}

static void add_output(struct lm_op_case *c, const char *name, const char *gradient, size_t count)
{
    add(c, name, LM_OP_ELEMENT, LM_OP_OUTPUT, gradient, count);
    if (gradient)
        add_element(c, gradient, count);
}

/* Of a parameter: added. */
static void add_parameter(struct lm_op_case *c, const char *name, const char *of, size_t count)
{
    add(c, name, LM_OP_ELEMENT, LM_OP_GRADIENT | LM_OP_ADDED | LM_OP_OPTIONAL, of, count);
}

/* Of an activation. */
static void add_gradient(struct lm_op_case *c, const char *name, const char *of, int flags,
                         size_t count)
{
    add(c, name, LM_OP_ELEMENT, LM_OP_GRADIENT | flags | (c->add_dx ? LM_OP_ADDED : 0), of, count);
}

/* Whole numbers below `bound`, some of them more than once. */
static void add_indices(struct lm_op_case *c, const char *name, size_t count, size_t bound)
{
    struct lm_op_array *array = add(c, name, LM_OP_INDEX, 0, NULL, count);
    for (size_t i = 0; i < count; i++)
        array->start[i] = floor((noise(c, i) + 1) * 0.5 * (double)bound * 0.999);
}

/* The i-th of `count` + 1 borders from 0 to `rows`, in steps that differ. */
static size_t border(size_t i, size_t count, size_t rows)
{
    size_t wide = rows * i * (i + 1) / (count * (count + 1));
    return i < count && wide < i ? i : wide;
}

static void add_starts(struct lm_op_case *c, size_t count, size_t rows)
{
    struct lm_op_array *array = add(c, "starts", LM_OP_INDEX, 0, NULL, count + 1);
    for (size_t i = 0; i <= count; i++)
        array->start[i] = (double)border(i, count, rows);
}

static void *at(const struct lm_op_case *c, const char *name)
{
    const struct lm_op_array *array = lm_op_case_find((struct lm_op_case *)c, name);
    return array && !array->absent ? array->memory : NULL;
}

/* Sets members of an op to the arrays of their names: pairs of name and address, then NULL. */
static void bind_members(const struct lm_op_case *c, ...)
{
    va_list members;
    va_start(members, c);
    for (const char *name; (name = va_arg(members, const char *));) {
        void *memory = at(c, name);
        memcpy(va_arg(members, void *), &memory, sizeof memory);
    }
    va_end(members);
}

#define TO(member) #member, &op.member
#define RUN(name) ((backward ? b->ops->name.backward : b->ops->name.forward)(b, &op))

enum { BIAS = 1, ADDEND = 2, IN_PLACE = 4, ADD_DX = 8, ENTROPY = 16, LARGE = 32 };

static void run_embed(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_embed op = {.rows = c->sizes[0], .width = c->sizes[1]};
    bind_members(c, TO(tokens), TO(table), TO(y), TO(dy), TO(dtable), NULL);
    RUN(embed);
}

/* rows, width, vocabulary */
static void make_embed(struct lm_op_case *c, int flags)
{
    size_t rows = c->sizes[0], width = c->sizes[1], vocab = c->sizes[2];
    c->run = run_embed;
    c->bound = 1e-6;
    add_indices(c, "tokens", rows, vocab);
    add_element(c, "table", vocab * width);
    add_output(c, "y", "dy", rows * width);
    add_parameter(c, "dtable", "table", vocab * width);
}

static void run_rmsnorm(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_rmsnorm op = {.rows = c->sizes[0],
                            .width = c->sizes[1],
                            .epsilon = (float)c->numbers[0],
                            .y = c->backward ? at(c, "y") : at(c, "x"),
                            .add_dx = c->add_dx};
    bind_members(c, TO(x), TO(weight), TO(inverse), TO(dy), TO(dx), TO(dweight), NULL);
    RUN(rmsnorm);
}

/* rows, width */
static void make_rmsnorm(struct lm_op_case *c, int flags)
{
    size_t rows = c->sizes[0], width = c->sizes[1];
    c->run = run_rmsnorm;
    c->bound = 2e-5;
    c->numbers[0] = 1e-3;
    c->backward = !(flags & IN_PLACE);
    add(c, "x", LM_OP_ELEMENT, flags & IN_PLACE ? LM_OP_OUTPUT : 0, NULL, rows * width);
    add_element(c, "weight", width);
    if (flags & IN_PLACE)
        return;
    add_output(c, "y", "dy", rows * width);
    add(c, "inverse", LM_OP_F32, LM_OP_OUTPUT, NULL, rows);
    add_gradient(c, "dx", "x", LM_OP_OPTIONAL, rows * width);
    add_parameter(c, "dweight", "weight", width);
}

static void run_linear(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    bool in_place = c->sizes[3];
    struct lm_linear op = {.rows = c->sizes[0],
                           .in = c->sizes[1],
                           .out = c->sizes[2],
                           .scale = (float)c->numbers[0],
                           .addend = at(c, in_place ? "y" : "addend"),
                           .add_dx = c->add_dx};
    bind_members(c, TO(x), TO(weight), TO(bias), TO(y), TO(dy), TO(dx), TO(dweight), TO(dbias),
                 NULL);
    RUN(linear);
}

/* rows, in, out, whether y is the addend */
static void make_linear(struct lm_op_case *c, int flags)
{
    size_t rows = c->sizes[0], in = c->sizes[1], out = c->sizes[2];
    c->run = run_linear;
    c->bound = 1e-5;
    c->sizes[3] = (flags & IN_PLACE) != 0;
    c->numbers[0] = flags & (ADDEND | IN_PLACE) ? 0.75 : 1;
    add_element(c, "x", rows * in);
    add_element(c, "weight", out * in);
    if (flags & BIAS)
        add_element(c, "bias", out);
    if (flags & ADDEND)
        add_element(c, "addend", rows * out);
    add_output(c, "y", "dy", rows * out);
    add_gradient(c, "dx", "x", LM_OP_OPTIONAL, rows * in);
    add_parameter(c, "dweight", "weight", out * in);
    if (flags & BIAS)
        add_parameter(c, "dbias", "bias", out);
}

static void run_rope(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_rope op = {.rows = c->sizes[0], .heads = c->sizes[1], .width = c->sizes[2]};
    bind_members(c, TO(positions), TO(cosine), TO(sine), TO(x), TO(dx), NULL);
    RUN(rope);
}

/* rows, heads, width, positions; the backward is that of any two tables, a rotation or not */
static void make_rope(struct lm_op_case *c, int flags)
{
    size_t count = c->sizes[0] * c->sizes[1] * c->sizes[2];
    size_t table = c->sizes[3] * c->sizes[2] / 2;
    c->run = run_rope;
    c->bound = 1e-6;
    add_indices(c, "positions", c->sizes[0], c->sizes[3]);
    add(c, "cosine", LM_OP_F32, 0, NULL, table);
    add(c, "sine", LM_OP_F32, 0, NULL, table);
    add(c, "x", LM_OP_ELEMENT, LM_OP_OUTPUT, "dx", count);
    add(c, "dx", LM_OP_ELEMENT, LM_OP_GRADIENT, "x", count);
}

static size_t longest_of(const struct lm_op_case *c)
{
    const struct lm_op_array *starts = lm_op_case_find((struct lm_op_case *)c, "starts");
    double longest = 0;
    for (size_t i = 0; i + 1 < starts->count; i++)
        longest = fmax(longest, starts->start[i + 1] - starts->start[i]);
    return (size_t)longest;
}

static void run_attention(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_attention op = {.rows = c->sizes[0],
                              .sequences = c->sizes[1],
                              .heads = c->sizes[2],
                              .kv_heads = c->sizes[3],
                              .width = c->sizes[4],
                              .longest = longest_of(c),
                              .scale = (float)c->numbers[0]};
    bind_members(c, TO(starts), TO(q), TO(k), TO(v), TO(y), TO(lse), TO(dy), TO(dq), TO(dk), TO(dv),
                 NULL);
    RUN(attention);
}

/* rows, sequences, heads, kv heads, width */
static void make_attention(struct lm_op_case *c, int flags)
{
    size_t rows = c->sizes[0], q = c->sizes[2] * c->sizes[4], kv = c->sizes[3] * c->sizes[4];
    c->run = run_attention;
    c->bound = 3e-5;
    c->numbers[0] = 0.5;
    add_starts(c, c->sizes[1], rows);
    add_element(c, "q", rows * q);
    add_element(c, "k", rows * kv);
    add_element(c, "v", rows * kv);
    add_output(c, "y", "dy", rows * q);
    add(c, "lse", LM_OP_F32, LM_OP_OUTPUT, NULL, rows * c->sizes[2]);
    add_gradient(c, "dq", "q", 0, rows * q);
    add_gradient(c, "dk", "k", 0, rows * kv);
    add_gradient(c, "dv", "v", 0, rows * kv);
}

/* Each of `sequences` caches has its pages in an order of its own, none twice. */
static void add_pages(struct lm_op_case *c, size_t sequences, size_t max_pages)
{
    size_t all = sequences * max_pages;
    struct lm_op_array *pages = add(c, "pages", LM_OP_INDEX, 0, NULL, all);
    for (size_t i = 0; i < all; i++) {
        size_t j = (size_t)((noise(c, i) + 1) * 0.4999 * (double)(i + 1));
        pages->start[i] = pages->start[j];
        pages->start[j] = (double)i;
    }
}

/* New rows of each sequence, one or several of them: the first sequence's end with its cache, the
 * others' earlier. */
static void add_places(struct lm_op_case *c, size_t rows, size_t sequences, size_t positions)
{
    struct lm_op_array *sequence = add(c, "sequence", LM_OP_INDEX, 0, NULL, rows);
    struct lm_op_array *places = add(c, "positions", LM_OP_INDEX, 0, NULL, rows);
    for (size_t s = 0; s < sequences; s++) {
        size_t first = border(s, sequences, rows), end = border(s + 1, sequences, rows);
        size_t before = positions - (end - first);
        before -= before * s / sequences;
        for (size_t i = first; i < end; i++) {
            sequence->start[i] = (double)s;
            places->start[i] = (double)(before + i - first);
        }
    }
}

static void run_cache_write(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_cache_write op = {.rows = c->sizes[0],
                                .kv_heads = c->sizes[3],
                                .width = c->sizes[4],
                                .page = c->sizes[5],
                                .max_pages = c->sizes[6]};
    bind_members(c, TO(sequence), TO(positions), TO(pages), TO(k), TO(v), TO(cache_k), TO(cache_v),
                 NULL);
    RUN(cache_write);
}

/* rows, sequences, -, kv heads, width, page, pages of a sequence */
static void make_cache_write(struct lm_op_case *c, int flags)
{
    size_t row = c->sizes[3] * c->sizes[4], all = c->sizes[1] * c->sizes[6] * c->sizes[5] * row;
    c->run = run_cache_write;
    c->bound = 1e-6;
    c->backward = false;
    add_places(c, c->sizes[0], c->sizes[1], c->sizes[5] * c->sizes[6]);
    add_pages(c, c->sizes[1], c->sizes[6]);
    add_element(c, "k", c->sizes[0] * row);
    add_element(c, "v", c->sizes[0] * row);
    add_output(c, "cache_k", NULL, all);
    add_output(c, "cache_v", NULL, all);
}

static void run_attention_paged(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_attention_paged op = {.rows = c->sizes[0],
                                    .heads = c->sizes[2],
                                    .kv_heads = c->sizes[3],
                                    .width = c->sizes[4],
                                    .page = c->sizes[5],
                                    .max_pages = c->sizes[6],
                                    .scale = (float)c->numbers[0]};
    bind_members(c, TO(sequence), TO(positions), TO(pages), TO(q), TO(cache_k), TO(cache_v), TO(y),
                 NULL);
    RUN(attention_paged);
}

/* rows, sequences, heads, kv heads, width, page, pages of a sequence */
static void make_attention_paged(struct lm_op_case *c, int flags)
{
    size_t row = c->sizes[3] * c->sizes[4], all = c->sizes[1] * c->sizes[6] * c->sizes[5] * row;
    size_t q = c->sizes[0] * c->sizes[2] * c->sizes[4];
    c->run = run_attention_paged;
    c->bound = 3e-5;
    c->backward = false;
    c->numbers[0] = 0.5;
    add_places(c, c->sizes[0], c->sizes[1], c->sizes[5] * c->sizes[6]);
    add_pages(c, c->sizes[1], c->sizes[6]);
    add_element(c, "q", q);
    add_element(c, "cache_k", all);
    add_element(c, "cache_v", all);
    add_output(c, "y", NULL, q);
}

static void run_swiglu(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    bool in_place = c->sizes[1];
    struct lm_swiglu op = {.count = c->sizes[0],
                           .dgate = at(c, in_place ? "gate" : "dgate"),
                           .dup = at(c, in_place ? "up" : "dup")};
    bind_members(c, TO(gate), TO(up), TO(y), TO(dy), NULL);
    if (!c->backward)
        op.y = at(c, "gate");
    RUN(swiglu);
}

/* count, whether gradients go where gate and up were */
static void make_swiglu(struct lm_op_case *c, int flags)
{
    bool in_place = flags & IN_PLACE;
    size_t count = c->sizes[0];
    c->run = run_swiglu;
    c->bound = 1e-5;
    c->sizes[1] = in_place;
    c->backward = !(flags & ADDEND);
    if (!c->backward) {
        add_output(c, "gate", NULL, count);
        add_element(c, "up", count);
        return;
    }
    add(c, "gate", LM_OP_ELEMENT, in_place ? LM_OP_GRADIENT : 0, "gate", count);
    add(c, "up", LM_OP_ELEMENT, in_place ? LM_OP_GRADIENT : 0, "up", count);
    add_output(c, "y", "dy", count);
    if (in_place)
        return;
    add_gradient(c, "dgate", "gate", 0, count);
    add_gradient(c, "dup", "up", 0, count);
}

static void run_logprob(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_logprob op = {.rows = c->sizes[0],
                            .width = c->sizes[1],
                            .vocab = c->sizes[2],
                            .targets_per_row = c->sizes[3],
                            .temperature = (float)c->numbers[0]};
    bind_members(c, TO(x), TO(weight), TO(targets), TO(logits), TO(lse), TO(logprob), TO(entropy),
                 TO(collision), TO(dlogprob), TO(dentropy), TO(dx), TO(dweight), NULL);
    RUN(logprob);
}

/* rows, width, vocabulary, targets of a row */
static void make_logprob(struct lm_op_case *c, int flags)
{
    size_t rows = c->sizes[0], width = c->sizes[1], vocab = c->sizes[2];
    size_t targets = rows * c->sizes[3];
    c->run = run_logprob;
    c->bound = 3e-5;
    c->numbers[0] = flags & ENTROPY ? 1.25 : 1;
    add_element(c, "x", rows * width);
    add_element(c, "weight", vocab * width);
    add_indices(c, "targets", targets, vocab);
    add(c, "logits", LM_OP_ELEMENT, LM_OP_SCRATCH, NULL, rows * vocab);
    add(c, "lse", LM_OP_F32, LM_OP_OUTPUT, NULL, rows);
    add(c, "logprob", LM_OP_F32, LM_OP_OUTPUT, "dlogprob", targets);
    add(c, "dlogprob", LM_OP_F32, 0, NULL, targets);
    if (flags & ENTROPY) {
        add(c, "entropy", LM_OP_F32, LM_OP_OUTPUT, "dentropy", rows);
        add(c, "dentropy", LM_OP_F32, LM_OP_OPTIONAL, NULL, rows);
        add(c, "collision", LM_OP_F32, LM_OP_OUTPUT, NULL, rows);
    }
    add_gradient(c, "dx", "x", LM_OP_OPTIONAL, rows * width);
    add_parameter(c, "dweight", "weight", vocab * width);
}

static void run_square_sum(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_square_sum op = {.count = c->sizes[0]};
    bind_members(c, TO(x), TO(sum), NULL);
    RUN(square_sum);
}

static void make_square_sum(struct lm_op_case *c, int flags)
{
    c->run = run_square_sum;
    c->bound = 1e-6;
    c->backward = false;
    add_element(c, "x", c->sizes[0]);
    add(c, "sum", LM_OP_F64, LM_OP_OUTPUT, NULL, 1);
}

static void run_adamw(const struct lm_op_case *c, struct lm_backend *b, bool backward)
{
    struct lm_adamw op = {.count = c->sizes[0],
                          .rate = 0.01F,
                          .beta1 = 0.9F,
                          .beta2 = 0.95F,
                          .epsilon = 1e-8F,
                          .decay = 0.1F,
                          .gradient_scale = 0.5F,
                          .correction1 = 1 - 0.9 * 0.9,
                          .correction2 = 1 - 0.95 * 0.95};
    bind_members(c, TO(weight), TO(gradient), TO(m), TO(v), NULL);
    RUN(adamw);
}

static void make_adamw(struct lm_op_case *c, int flags)
{
    c->run = run_adamw;
    c->bound = 1e-6;
    c->backward = false;
    add_output(c, "weight", NULL, c->sizes[0]);
    add_element(c, "gradient", c->sizes[0]);
    add(c, "m", LM_OP_F32, LM_OP_OUTPUT, NULL, c->sizes[0]);
    struct lm_op_array *v = add(c, "v", LM_OP_F32, LM_OP_OUTPUT, NULL, c->sizes[0]);
    for (size_t i = 0; i < v->count; i++)
        v->start[i] = fabs(v->start[i]) + 0x1p-6; /* no step is huge */
}

static const struct row rows[] = {
    {"embed", "one", make_embed, {1, 1, 1}, 0},
    {"embed", "tokens more than once", make_embed, {23, 17, 5}, 0},
    {"embed", "wide", make_embed, {9, 130, 40}, 0},
    {"embed", "parts", make_embed, {257, 257, 63}, LARGE},
    {"rmsnorm", "one", make_rmsnorm, {1, 1}, 0},
    {"rmsnorm", "odd", make_rmsnorm, {7, 13}, 0},
    {"rmsnorm", "added", make_rmsnorm, {33, 129}, ADD_DX},
    {"rmsnorm", "heads", make_rmsnorm, {50, 8}, 0},
    {"rmsnorm", "in place", make_rmsnorm, {5, 37}, IN_PLACE},
    {"rmsnorm", "many heads", make_rmsnorm, {3000, 16}, LARGE},
    {"rmsnorm", "parts", make_rmsnorm, {257, 257}, ADD_DX | LARGE},
    {"linear", "one", make_linear, {1, 1, 1}, 0},
    {"linear", "odd", make_linear, {3, 5, 7}, BIAS},
    {"linear", "one row", make_linear, {1, 67, 131}, BIAS | ADD_DX},
    {"linear", "one output", make_linear, {19, 33, 1}, ADDEND},
    {"linear", "scaled", make_linear, {17, 33, 65}, BIAS | ADDEND | ADD_DX},
    {"linear", "low rank, in place", make_linear, {40, 4, 50}, IN_PLACE},
    {"linear", "blocks", make_linear, {64, 96, 80}, 0},
    {"linear", "one row, wide", make_linear, {1, 63, 257}, BIAS | ADDEND | LARGE},
    {"linear", "few rows in parts", make_linear, {7, 257, 257}, BIAS | IN_PLACE | LARGE},
    {"linear", "few rows", make_linear, {16, 63, 65}, ADDEND | ADD_DX | LARGE},
    {"linear", "one input", make_linear, {17, 1, 63}, LARGE},
    {"linear", "many inputs", make_linear, {63, 257, 17}, BIAS | LARGE},
    {"linear", "parts", make_linear, {257, 129, 63}, BIAS | ADDEND | ADD_DX | LARGE},
    {"linear", "parts of outputs", make_linear, {65, 63, 1025}, BIAS | IN_PLACE | LARGE},
    {"linear", "adapter", make_linear, {300, 256, 8}, ADD_DX | LARGE},
    {"rope", "one", make_rope, {1, 1, 2, 1}, 0},
    {"rope", "odd", make_rope, {11, 3, 10, 29}, 0},
    {"rope", "wide", make_rope, {5, 2, 64, 7}, 0},
    {"rope", "parts", make_rope, {257, 3, 64, 50}, LARGE},
    {"attention", "one", make_attention, {1, 1, 1, 1, 1}, 0},
    {"attention", "grouped", make_attention, {13, 3, 6, 2, 5}, 0},
    {"attention", "one key head", make_attention, {37, 1, 4, 1, 16}, 0},
    {"attention", "all heads", make_attention, {70, 5, 3, 3, 24}, 0},
    {"attention", "sequences of one", make_attention, {4, 4, 2, 2, 8}, 0},
    {"attention", "shared keys", make_attention, {300, 5, 6, 2, 16}, LARGE},
    {"attention", "one key head, long", make_attention, {260, 3, 7, 1, 8}, LARGE},
    {"attention", "several pieces", make_attention, {1650, 2, 2, 1, 17}, LARGE},
    {"cache_write", "one", make_cache_write, {1, 1, 0, 1, 2, 1, 1}, 0},
    {"cache_write", "pages", make_cache_write, {15, 3, 0, 2, 6, 4, 5}, 0},
    {"cache_write", "many", make_cache_write, {304, 3, 0, 3, 17, 16, 44}, LARGE},
    {"attention_paged", "one", make_attention_paged, {1, 1, 1, 1, 2, 1, 1}, 0},
    {"attention_paged", "decoding", make_attention_paged, {5, 5, 6, 2, 10, 4, 7}, 0},
    {"attention_paged", "prompts", make_attention_paged, {21, 3, 4, 4, 16, 16, 3}, 0},
    {"attention_paged", "one of many", make_attention_paged, {1, 1, 1, 1, 1, 16, 1}, LARGE},
    {"attention_paged", "small pages", make_attention_paged, {7, 7, 6, 2, 17, 3, 21}, LARGE},
    {"attention_paged", "decoding over several pieces", make_attention_paged,
     .sizes = {3, 3, 3, 3, 16, 17, 77}, LARGE},
    {"attention_paged", "long prompts", make_attention_paged, {304, 3, 6, 3, 17, 16, 44}, LARGE},
    {"attention_paged", "a page beyond a piece", make_attention_paged,
     .sizes = {20, 3, 2, 1, 16, 600, 3}, LARGE},
    {"swiglu", "one", make_swiglu, {1}, 0},
    {"swiglu", "odd", make_swiglu, {1003}, 0},
    {"swiglu", "gradients in place", make_swiglu, {77}, IN_PLACE},
    {"swiglu", "forward in place", make_swiglu, {77}, ADDEND},
    {"swiglu", "parts", make_swiglu, {70001}, LARGE},
    {"logprob", "one", make_logprob, {1, 1, 1, 1}, ENTROPY},
    {"logprob", "odd", make_logprob, {9, 7, 37, 1}, 0},
    {"logprob", "entropy", make_logprob, {6, 5, 23, 1}, ENTROPY},
    {"logprob", "soft targets", make_logprob, {5, 8, 61, 4}, ENTROPY},
    {"logprob", "blocks", make_logprob, {33, 24, 300, 2}, 0},
    {"logprob", "wide", make_logprob, {17, 63, 257, 1}, ENTROPY | LARGE},
    {"logprob", "several pieces and parts", make_logprob, {19, 17, 5001, 1}, ENTROPY | LARGE},
    {"logprob", "more soft targets", make_logprob, {63, 17, 63, 3}, ENTROPY | LARGE},
    {"square_sum", "one", make_square_sum, {1}, 0},
    {"square_sum", "odd", make_square_sum, {4099}, 0},
    {"square_sum", "parts", make_square_sum, {200003}, LARGE},
    {"adamw", "one", make_adamw, {1}, 0},
    {"adamw", "odd", make_adamw, {1027}, 0},
    {"adamw", "parts", make_adamw, {70001}, LARGE},
};
const size_t lm_op_case_count = COUNT(rows);

void lm_op_case_init(struct lm_op_case *c, size_t index)
{
    const struct row *row = &rows[index];
    *c = (struct lm_op_case){.op = row->op, .variant = row->variant, .backward = true};
    memcpy(c->sizes, row->sizes, sizeof c->sizes);
    c->add_dx = row->flags & ADD_DX;
    c->large = row->flags & LARGE;
    row->make(c, row->flags);
}

void lm_op_case_deinit(struct lm_op_case *c)
{
    for (size_t i = 0; i < c->count; i++) {
        mem_free(c->arrays[i].start);
        mem_free(c->arrays[i].found);
    }
}

struct lm_op_array *lm_op_case_find(struct lm_op_case *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->arrays[i].name, name) == 0)
            return &c->arrays[i];
    return NULL;
}

static size_t bytes_of(const struct lm_op_array *array, const struct lm_backend *backend)
{
    const size_t sizes[] = {[LM_OP_ELEMENT] = lm_dtype_bytes(backend->dtype),
                            [LM_OP_F32] = sizeof(float),
                            [LM_OP_F64] = sizeof(double),
                            [LM_OP_INDEX] = sizeof(int32_t)};
    return array->count * sizes[array->type];
}

static void put(struct lm_backend *backend, const struct lm_op_array *array)
{
    size_t bytes = bytes_of(array, backend), count = array->count;
    if (array->type == LM_OP_F64) {
        backend->upload(backend, array->memory, array->start, bytes);
        return;
    }
    float *floats = mem_alloc(count * sizeof *floats);
    int32_t *indices = mem_alloc(count * sizeof *indices);
    for (size_t i = 0; i < count; i++) {
        floats[i] = (float)array->start[i];
        indices[i] = array->type == LM_OP_INDEX ? (int32_t)array->start[i] : 0;
    }
    if (array->type == LM_OP_ELEMENT)
        lm_value_put(backend, array->memory, 0, floats, count);
    else
        backend->upload(backend, array->memory,
                        array->type == LM_OP_INDEX ? (void *)indices : (void *)floats, bytes);
    mem_free(floats);
    mem_free(indices);
}

static void get(struct lm_backend *backend, const struct lm_op_array *array)
{
    if (array->type == LM_OP_F64) {
        backend->download(backend, array->found, array->memory, bytes_of(array, backend));
        return;
    }
    float *floats = mem_alloc(array->count * sizeof *floats);
    if (array->type == LM_OP_ELEMENT)
        lm_value_get(backend, array->memory, 0, floats, array->count);
    else
        backend->download(backend, floats, array->memory, bytes_of(array, backend));
    for (size_t i = 0; i < array->count; i++)
        array->found[i] = (double)floats[i];
    mem_free(floats);
}

/* Arrays that have one of `flags`, or, `others`, none of them. */
static int get_all(struct lm_op_case *c, struct lm_backend *backend, int flags, bool others,
                   struct err *err)
{
    int result = lm_backend_wait(backend, err);
    for (size_t i = 0; i < c->count && result == 0; i++)
        if (((c->arrays[i].flags & flags) == 0) == others && !c->arrays[i].absent)
            get(backend, &c->arrays[i]);
    return result;
}

int lm_op_case_run(struct lm_op_case *c, struct lm_backend *backend, bool backward, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < c->count; i++)
        c->arrays[i].memory = NULL;
    for (size_t i = 0; i < c->count && result == 0; i++) {
        struct lm_op_array *array = &c->arrays[i];
        result = lm_backend_alloc(backend, bytes_of(array, backend), array->name, &array->memory,
                                  err);
        if (result == 0)
            put(backend, array);
    }
    if (result == 0) {
        c->run(c, backend, false);
        result = get_all(c, backend, LM_OP_OUTPUT, false, err);
    }
    if (result == 0 && backward && c->backward)
        c->run(c, backend, true);
    if (result == 0 && backward)
        result = get_all(c, backend, LM_OP_OUTPUT | LM_OP_SCRATCH, true, err);
    for (size_t i = 0; i < c->count; i++)
        backend->free(backend, c->arrays[i].memory);
    return result;
}

long lm_op_array_far(const struct lm_op_array *wanted, const struct lm_op_array *found,
                     double bound)
{
    const double *a = wanted->found, *b = found->found;
    double squares = 0;
    for (size_t i = 0; i < wanted->count; i++)
        squares += a[i] * a[i];
    /* What was drawn is of size 1: sums that cancel keep its rounding. */
    double size = fmax(sqrt(squares / (double)wanted->count), 0.05);
    for (size_t i = 0; i < wanted->count; i++)
        if (bound == 0 ? a[i] != b[i] || signbit(a[i]) != signbit(b[i])
                       : !(fabs(a[i] - b[i]) <= bound * (size + fabs(a[i]))))
            return (long)i;
    return -1;
}
