#include "lm/model/layer.h"

#include "lm/model/apply.h"

#include <math.h>

/* One projection of one layer, with the array that its adapter needs. */
struct projecting {
    const struct lm_flow *flow;
    const struct lm_projection *p;
    void *low;
};

static struct projecting projecting(const struct lm_flow *flow, size_t index,
                                    enum lm_lora_target target)
{
    return (struct projecting){.flow = flow,
                               .p = &flow->model->layers[index].projections[target],
                               .low = flow->all.layers[index].low[target]};
}

/* `y` NULL: only what backward needs. */
static void project(struct projecting to, const void *x, const void *addend, void *y)
{
    lm_project(to.flow->model, to.p, to.flow->rows, x, addend, to.low, y);
}

static void project_back(struct projecting to, const void *x, const void *dy, void *dx, bool add_dx)
{
    struct lm_backend *backend = to.flow->model->backend;
    const size_t rows = to.flow->rows;
    struct lm_linear base = lm_linear_of(to.p->weight, rows, x, NULL);
    base.dbias = to.p->bias ? to.p->bias->gradient : NULL;
    base.dy = dy;
    base.dx = dx;
    base.add_dx = add_dx;
    backend->ops->linear.backward(backend, &base);
    if (!to.p->a)
        return;
    struct lm_linear up = lm_linear_of(to.p->b, rows, to.low, NULL);
    struct lm_linear down = lm_linear_of(to.p->a, rows, x, NULL);
    up.scale = (float)lm_lora_scale(&to.flow->model->lora);
    up.dy = dy;
    up.dx = to.flow->all.dlow;
    down.dy = to.flow->all.dlow;
    down.dx = dx;
    down.add_dx = true;
    backend->ops->linear.backward(backend, &up);
    backend->ops->linear.backward(backend, &down);
}

struct lm_rmsnorm lm_stream_norm(const struct lm_flow *flow, const struct lm_parameter *weight,
                                 const void *x, void *y, float *inverse)
{
    struct lm_rmsnorm norm = lm_norm_of(flow->model, weight, flow->rows, x, y);
    norm.inverse = inverse;
    return norm;
}

/* Queries or keys: what is done to their heads between projection and attention. */
struct heads {
    size_t count;
    const struct lm_parameter *norm; /* or NULL */
    void *raw, *turned, *gradient;
    float *inverse;
};

static struct heads heads_of(const struct lm_flow *flow, size_t index, bool keys)
{
    const struct lm_config *c = &flow->model->config;
    const struct lm_layer *layer = &flow->model->layers[index];
    const struct lm_layer_arrays *at = &flow->all.layers[index];
    return keys ? (struct heads){.count = c->kv_heads,
                                 .norm = layer->k_norm,
                                 .raw = at->raw_k ? at->raw_k : at->k,
                                 .turned = at->k,
                                 .gradient = flow->all.dk,
                                 .inverse = at->k_inverse}
                : (struct heads){.count = c->heads,
                                 .norm = layer->q_norm,
                                 .raw = at->raw_q ? at->raw_q : at->q,
                                 .turned = at->q,
                                 .gradient = flow->all.dq,
                                 .inverse = at->q_inverse};
}

static struct lm_rmsnorm norm_of(const struct lm_flow *flow, const struct heads *heads)
{
    struct lm_rmsnorm norm = lm_stream_norm(flow, heads->norm, heads->raw, heads->turned,
                                            heads->inverse);
    norm.rows = flow->rows * heads->count;
    return norm;
}

static struct lm_rope rope_of(const struct lm_flow *flow, const struct heads *heads)
{
    return (struct lm_rope){.rows = flow->rows,
                            .heads = heads->count,
                            .width = flow->model->config.head_width,
                            .positions = flow->all.positions,
                            .cosine = flow->model->cosine,
                            .sine = flow->model->sine,
                            .x = heads->turned,
                            .dx = heads->gradient};
}

static void turn(const struct lm_flow *flow, const struct heads *heads)
{
    struct lm_backend *backend = flow->model->backend;
    if (heads->norm) {
        struct lm_rmsnorm norm = norm_of(flow, heads);
        backend->ops->rmsnorm.forward(backend, &norm);
    }
    struct lm_rope rope = rope_of(flow, heads);
    backend->ops->rope.forward(backend, &rope);
}

/* The gradient of what the projection gave: attention has no more use for the turned heads, so
 * their array takes it. */
static void *turn_back(const struct lm_flow *flow, const struct heads *heads)
{
    struct lm_backend *backend = flow->model->backend;
    struct lm_rope rope = rope_of(flow, heads);
    backend->ops->rope.backward(backend, &rope);
    if (!heads->norm)
        return heads->gradient;
    struct lm_rmsnorm norm = norm_of(flow, heads);
    norm.dy = heads->gradient;
    norm.dx = heads->turned;
    backend->ops->rmsnorm.backward(backend, &norm);
    return heads->turned;
}

static struct lm_attention attention_of(const struct lm_flow *flow, size_t index)
{
    const struct lm_config *c = &flow->model->config;
    const struct lm_layer_arrays *at = &flow->all.layers[index];
    return (struct lm_attention){.rows = flow->rows,
                                 .sequences = flow->sequences,
                                 .heads = c->heads,
                                 .kv_heads = c->kv_heads,
                                 .width = c->head_width,
                                 .longest = flow->longest,
                                 .scale = 1 / sqrtf((float)c->head_width),
                                 .starts = flow->all.starts,
                                 .q = at->q,
                                 .k = at->k,
                                 .v = at->v,
                                 .y = at->attended,
                                 .lse = at->lse,
                                 .dy = flow->all.dattended,
                                 .dq = flow->all.dq,
                                 .dk = flow->all.dk,
                                 .dv = flow->all.dv};
}

static struct lm_swiglu swiglu_of(const struct lm_flow *flow, size_t index)
{
    const struct lm_layer_arrays *at = &flow->all.layers[index];
    return (struct lm_swiglu){.count = flow->rows * flow->model->config.inner,
                              .gate = at->gate,
                              .up = at->up,
                              .y = at->gated,
                              .dy = flow->all.dgated,
                              .dgate = at->gate,
                              .dup = at->up};
}

void lm_layer_forward(const struct lm_flow *flow, size_t index, void *output)
{
    struct lm_backend *backend = flow->model->backend;
    const struct lm_layer *layer = &flow->model->layers[index];
    const struct lm_layer_arrays *at = &flow->all.layers[index];
    struct heads q = heads_of(flow, index, false), k = heads_of(flow, index, true);
    struct lm_attention attention = attention_of(flow, index);
    struct lm_swiglu swiglu = swiglu_of(flow, index);
    struct lm_rmsnorm norm = lm_stream_norm(flow, layer->attention_norm, at->input, at->normed,
                                            at->inverse);
    backend->ops->rmsnorm.forward(backend, &norm);
    project(projecting(flow, index, LM_LORA_Q), at->normed, NULL, q.raw);
    project(projecting(flow, index, LM_LORA_K), at->normed, NULL, k.raw);
    project(projecting(flow, index, LM_LORA_V), at->normed, NULL, at->v);
    turn(flow, &q);
    turn(flow, &k);
    backend->ops->attention.forward(backend, &attention);
    project(projecting(flow, index, LM_LORA_O), at->attended, at->input, at->middle);
    norm = lm_stream_norm(flow, layer->mlp_norm, at->middle, at->middle_normed, at->middle_inverse);
    backend->ops->rmsnorm.forward(backend, &norm);
    project(projecting(flow, index, LM_LORA_GATE), at->middle_normed, NULL, at->gate);
    project(projecting(flow, index, LM_LORA_UP), at->middle_normed, NULL, at->up);
    backend->ops->swiglu.forward(backend, &swiglu);
    project(projecting(flow, index, LM_LORA_DOWN), at->gated, at->middle, output);
}

/* doutput += what comes back through the norm from dnormed */
static void norm_back(const struct lm_flow *flow, struct lm_rmsnorm norm)
{
    struct lm_backend *backend = flow->model->backend;
    norm.dy = flow->all.dnormed;
    norm.dx = flow->all.doutput;
    norm.add_dx = true;
    backend->ops->rmsnorm.backward(backend, &norm);
}

static void mlp_back(const struct lm_flow *flow, size_t index)
{
    struct lm_backend *backend = flow->model->backend;
    const struct lm_activations *all = &flow->all;
    const struct lm_layer_arrays *at = &all->layers[index];
    struct lm_swiglu swiglu = swiglu_of(flow, index);
    project_back(projecting(flow, index, LM_LORA_DOWN), at->gated, all->doutput, all->dgated,
                 false);
    backend->ops->swiglu.backward(backend, &swiglu);
    project_back(projecting(flow, index, LM_LORA_GATE), at->middle_normed, at->gate, all->dnormed,
                 false);
    project_back(projecting(flow, index, LM_LORA_UP), at->middle_normed, at->up, all->dnormed,
                 true);
    norm_back(flow, lm_stream_norm(flow, flow->model->layers[index].mlp_norm, at->middle, NULL,
                                   at->middle_inverse));
}

void lm_layer_backward(const struct lm_flow *flow, size_t index)
{
    struct lm_backend *backend = flow->model->backend;
    const struct lm_activations *all = &flow->all;
    const struct lm_layer_arrays *at = &all->layers[index];
    struct heads q = heads_of(flow, index, false), k = heads_of(flow, index, true);
    struct lm_attention attention = attention_of(flow, index);
    mlp_back(flow, index);
    project_back(projecting(flow, index, LM_LORA_O), at->attended, all->doutput, all->dattended,
                 false);
    backend->ops->attention.backward(backend, &attention);
    void *dq = turn_back(flow, &q), *dk = turn_back(flow, &k);
    project_back(projecting(flow, index, LM_LORA_Q), at->normed, dq, all->dnormed, false);
    project_back(projecting(flow, index, LM_LORA_K), at->normed, dk, all->dnormed, true);
    project_back(projecting(flow, index, LM_LORA_V), at->normed, all->dv, all->dnormed, true);
    norm_back(flow, lm_stream_norm(flow, flow->model->layers[index].attention_norm, at->input, NULL,
                                   at->inverse));
}
