#include "lm/sample/forward.h"

#include "base/array.h"
#include "base/mem.h"
#include "lm/model/apply.h"

#include <math.h>

#define BLOCK_LEAST 16
#define BLOCK_BYTES ((size_t)64 << 20) /* of logits at once */

/* Backend memory, all of it: one row of the table in alloc_arrays for each. */
struct forward {
    struct lm_model *model;
    struct lm_backend *backend;
    struct forward_options options;
    size_t block;
    struct forward_batch batch;
    float *logits; /* host, [block, vocab] */

    int32_t *tokens, *sequence, *positions, *pages;
    void **cache_k, **cache_v; /* of each layer: [pages, page, kv_heads, head_width] */
    void *hidden, *normed;     /* [rows, width] */
    void *q, *attended;        /* [rows, heads, head_width] */
    void *k, *v;               /* [rows, kv_heads, head_width] */
    void *gate, *up;           /* [rows, inner] */
    void *low;                 /* [rows, rank] */
    void *picked;              /* [block, width] */
    void *scores;              /* [block, vocab] */
};

static size_t key_width(const struct lm_config *config)
{
    return config->kv_heads * config->head_width;
}

static int make_cache(struct forward *forward, struct err *err)
{
    const struct lm_config *config = &forward->model->config;
    size_t bytes = forward->options.pages * forward->options.page * key_width(config) *
                   lm_dtype_bytes(forward->backend->dtype);
    forward->cache_k = mem_alloc(config->layers * sizeof *forward->cache_k);
    forward->cache_v = mem_alloc(config->layers * sizeof *forward->cache_v);
    int result = 0;
    for (size_t i = 0; i < config->layers && result == 0; i++) {
        result = lm_backend_alloc(forward->backend, bytes, "the cache of keys",
                                  &forward->cache_k[i], err);
        if (result == 0)
            result = lm_backend_alloc(forward->backend, bytes, "the cache of values",
                                      &forward->cache_v[i], err);
    }
    return result;
}

static int alloc_arrays(struct forward *forward, struct err *err)
{
    const struct lm_config *config = &forward->model->config;
    const struct forward_options *options = &forward->options;
    const size_t rows = options->rows, word = sizeof(int32_t);
    const size_t number = lm_dtype_bytes(forward->backend->dtype);
    const struct {
        void **to;
        size_t bytes;
    } parts[] = {
        {(void **)&forward->tokens, rows * word},
        {(void **)&forward->sequence, rows * word},
        {(void **)&forward->positions, rows * word},
        {(void **)&forward->pages, options->sequences * options->max_pages * word},
        {&forward->hidden, rows * config->width * number},
        {&forward->normed, rows * config->width * number},
        {&forward->q, rows * config->heads * config->head_width * number},
        {&forward->attended, rows * config->heads * config->head_width * number},
        {&forward->k, rows * key_width(config) * number},
        {&forward->v, rows * key_width(config) * number},
        {&forward->gate, rows * config->inner * number},
        {&forward->up, rows * config->inner * number},
        {&forward->low,
         (forward->model->lora.rank > 0 ? forward->model->lora.rank : 1) * rows * number},
        {&forward->picked, forward->block * config->width * number},
        {&forward->scores, forward->block * config->vocab * number},
    };
    int result = 0;
    for (size_t i = 0; i < COUNT(parts) && result == 0; i++)
        result = lm_backend_alloc(forward->backend, parts[i].bytes, "a sampler's activations",
                                  parts[i].to, err);
    return result;
}

int forward_open(struct forward **out, struct lm_model *model,
                 const struct forward_options *options, struct err *err)
{
    struct forward *forward = mem_alloc(sizeof *forward);
    size_t vocab = model->config.vocab;
    size_t fitting = BLOCK_BYTES / (vocab * sizeof(float));
    forward->model = model;
    forward->backend = model->backend;
    forward->options = *options;
    forward->block = fitting < BLOCK_LEAST ? BLOCK_LEAST : fitting;
    if (forward->block > options->rows)
        forward->block = options->rows;
    forward->logits = mem_alloc(forward->block * vocab * sizeof *forward->logits);
    forward->batch = (struct forward_batch){
        .tokens = mem_alloc(options->rows * sizeof(int32_t)),
        .sequence = mem_alloc(options->rows * sizeof(int32_t)),
        .positions = mem_alloc(options->rows * sizeof(int32_t)),
        .pages = mem_alloc(options->sequences * options->max_pages * sizeof(int32_t)),
    };
    int result = make_cache(forward, err);
    if (result == 0)
        result = alloc_arrays(forward, err);
    if (result < 0) {
        forward_close(forward);
        return result;
    }
    *out = forward;
    return 0;
}

void forward_close(struct forward *forward)
{
    if (!forward)
        return;
    struct lm_backend *backend = forward->backend;
    void *parts[] = {
        forward->tokens, forward->sequence, forward->positions, forward->pages,  forward->hidden,
        forward->normed, forward->q,        forward->attended,  forward->k,      forward->v,
        forward->gate,   forward->up,       forward->low,       forward->picked, forward->scores,
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        backend->free(backend, parts[i]);
    for (size_t i = 0; i < forward->model->config.layers; i++) {
        backend->free(backend, forward->cache_k[i]);
        backend->free(backend, forward->cache_v[i]);
    }
    mem_free(forward->cache_k);
    mem_free(forward->cache_v);
    mem_free(forward->logits);
    mem_free(forward->batch.tokens);
    mem_free(forward->batch.sequence);
    mem_free(forward->batch.positions);
    mem_free(forward->batch.pages);
    mem_free(forward);
}

static void project(struct forward *forward, const struct lm_projection *projection, const void *x,
                    const void *addend, void *y)
{
    lm_project(forward->model, projection, forward->batch.rows, x, addend, forward->low, y);
}

static void norm(struct forward *forward, const struct lm_parameter *weight, size_t rows,
                 const void *x, void *y)
{
    const struct lm_rmsnorm op = lm_norm_of(forward->model, weight, rows, x, y);
    forward->backend->ops->rmsnorm.forward(forward->backend, &op);
}

/* A head's own norm where the family has one, then its position. */
static void turn(struct forward *forward, const struct lm_parameter *weight, size_t heads, void *x)
{
    const struct lm_rope op = {
        .rows = forward->batch.rows,
        .heads = heads,
        .width = forward->model->config.head_width,
        .positions = forward->positions,
        .cosine = forward->model->cosine,
        .sine = forward->model->sine,
        .x = x,
    };
    if (weight)
        norm(forward, weight, forward->batch.rows * heads, x, x);
    forward->backend->ops->rope.forward(forward->backend, &op);
}

static void attend(struct forward *forward, size_t layer)
{
    const struct lm_config *config = &forward->model->config;
    struct lm_backend *backend = forward->backend;
    const struct lm_cache_write write = {
        .rows = forward->batch.rows,
        .kv_heads = config->kv_heads,
        .width = config->head_width,
        .page = forward->options.page,
        .max_pages = forward->batch.max_pages,
        .sequence = forward->sequence,
        .positions = forward->positions,
        .pages = forward->pages,
        .k = forward->k,
        .v = forward->v,
        .cache_k = forward->cache_k[layer],
        .cache_v = forward->cache_v[layer],
    };
    const struct lm_attention_paged attention = {
        .rows = forward->batch.rows,
        .heads = config->heads,
        .kv_heads = config->kv_heads,
        .width = config->head_width,
        .page = forward->options.page,
        .max_pages = forward->batch.max_pages,
        .scale = (float)(1 / sqrt((double)config->head_width)),
        .sequence = forward->sequence,
        .positions = forward->positions,
        .pages = forward->pages,
        .q = forward->q,
        .cache_k = forward->cache_k[layer],
        .cache_v = forward->cache_v[layer],
        .y = forward->attended,
    };
    backend->ops->cache_write.forward(backend, &write);
    backend->ops->attention_paged.forward(backend, &attention);
}

static void run_layer(struct forward *forward, size_t index)
{
    const struct lm_config *config = &forward->model->config;
    const struct lm_layer *layer = &forward->model->layers[index];
    const struct lm_projection *projections = layer->projections;
    const size_t rows = forward->batch.rows;
    norm(forward, layer->attention_norm, rows, forward->hidden, forward->normed);
    project(forward, &projections[LM_LORA_Q], forward->normed, NULL, forward->q);
    project(forward, &projections[LM_LORA_K], forward->normed, NULL, forward->k);
    project(forward, &projections[LM_LORA_V], forward->normed, NULL, forward->v);
    turn(forward, layer->q_norm, config->heads, forward->q);
    turn(forward, layer->k_norm, config->kv_heads, forward->k);
    attend(forward, index);
    project(forward, &projections[LM_LORA_O], forward->attended, forward->hidden, forward->hidden);
    norm(forward, layer->mlp_norm, rows, forward->hidden, forward->normed);
    project(forward, &projections[LM_LORA_GATE], forward->normed, NULL, forward->gate);
    project(forward, &projections[LM_LORA_UP], forward->normed, NULL, forward->up);
    const struct lm_swiglu swiglu = {
        .count = rows * config->inner,
        .gate = forward->gate,
        .up = forward->up,
        .y = forward->gate,
    };
    forward->backend->ops->swiglu.forward(forward->backend, &swiglu);
    project(forward, &projections[LM_LORA_DOWN], forward->gate, forward->hidden, forward->hidden);
}

struct forward_batch *forward_batch(struct forward *forward)
{
    return &forward->batch;
}

int forward_run(struct forward *forward, struct err *err)
{
    const struct forward_batch *batch = &forward->batch;
    struct lm_backend *backend = forward->backend;
    const size_t bytes = batch->rows * sizeof(int32_t);
    backend->upload(backend, forward->tokens, batch->tokens, bytes);
    backend->upload(backend, forward->sequence, batch->sequence, bytes);
    backend->upload(backend, forward->positions, batch->positions, bytes);
    backend->upload(backend, forward->pages, batch->pages,
                    batch->sequences * batch->max_pages * sizeof(int32_t));
    const struct lm_embed embed = {
        .rows = batch->rows,
        .width = forward->model->config.width,
        .tokens = forward->tokens,
        .table = forward->model->embedding->value,
        .y = forward->hidden,
    };
    backend->ops->embed.forward(backend, &embed);
    for (size_t i = 0; i < forward->model->config.layers; i++)
        run_layer(forward, i);
    return lm_backend_wait(backend, err);
}

size_t forward_block(const struct forward *forward)
{
    return forward->block;
}

int forward_logits(struct forward *forward, const int32_t *rows, size_t count, const float **logits,
                   struct err *err)
{
    const struct lm_config *config = &forward->model->config;
    struct lm_backend *backend = forward->backend;
    const size_t bytes = config->width * lm_dtype_bytes(backend->dtype);
    for (size_t i = 0; i < count; i++)
        backend->copy(backend, (char *)forward->picked + i * bytes,
                      (const char *)forward->hidden + (size_t)rows[i] * bytes, bytes);
    norm(forward, forward->model->final_norm, count, forward->picked, forward->picked);
    const struct lm_linear head = lm_linear_of(forward->model->head, count, forward->picked,
                                               forward->scores);
    backend->ops->linear.forward(backend, &head);
    backend->download(backend, forward->logits, forward->scores,
                      count * config->vocab * sizeof *forward->logits);
    *logits = forward->logits;
    return lm_backend_wait(backend, err);
}

void forward_copy_page(struct forward *forward, int32_t from, int32_t to)
{
    const struct lm_config *config = &forward->model->config;
    struct lm_backend *backend = forward->backend;
    const size_t bytes = forward->options.page * key_width(config) * lm_dtype_bytes(backend->dtype);
    void **caches[] = {forward->cache_k, forward->cache_v};
    for (size_t i = 0; i < 2 * config->layers; i++) {
        char *cache = caches[i % 2][i / 2];
        backend->copy(backend, cache + (size_t)to * bytes, cache + (size_t)from * bytes, bytes);
    }
}
