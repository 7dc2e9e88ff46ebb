#include "lm/model/activations.h"

#include "base/array.h"

#include <string.h>

#define ALIGNMENT 256 /* of each array: what the widest loads of any device ask for */

/* What an array has for each row. */
enum unit { WIDTH, QUERY, KEY, INNER, RANK, ONE, HEADS, KV_HEADS, VOCAB, UNITS };
enum type { ELEMENT, FLOAT, INTEGER };

/* When an array exists. */
enum when {
    ALWAYS,
    BACKWARD,     /* only in a pass that goes back */
    NORMED_HEADS, /* only with norms of heads, and only in a pass that goes back */
    WITH_ADAPTER, /* only where the model has an adapter */
    BACK_ADAPTER, /* only where both is so */
};

struct array {
    size_t member; /* where its pointer lies */
    enum unit unit;
    enum type type;
    enum when when;
};

#define LAYER(name) offsetof(struct lm_layer_arrays, name)
static const struct array layer_arrays[] = {
    {LAYER(normed), WIDTH, ELEMENT, ALWAYS},
    {LAYER(raw_q), QUERY, ELEMENT, NORMED_HEADS},
    {LAYER(raw_k), KEY, ELEMENT, NORMED_HEADS},
    {LAYER(q), QUERY, ELEMENT, ALWAYS},
    {LAYER(k), KEY, ELEMENT, ALWAYS},
    {LAYER(v), KEY, ELEMENT, ALWAYS},
    {LAYER(attended), QUERY, ELEMENT, ALWAYS},
    {LAYER(middle), WIDTH, ELEMENT, BACKWARD},
    {LAYER(middle_normed), WIDTH, ELEMENT, BACKWARD},
    {LAYER(gate), INNER, ELEMENT, ALWAYS},
    {LAYER(up), INNER, ELEMENT, ALWAYS},
    {LAYER(gated), INNER, ELEMENT, BACKWARD},
    {LAYER(low[LM_LORA_Q]), RANK, ELEMENT, WITH_ADAPTER},
    {LAYER(low[LM_LORA_K]), RANK, ELEMENT, BACK_ADAPTER},
    {LAYER(low[LM_LORA_V]), RANK, ELEMENT, BACK_ADAPTER},
    {LAYER(low[LM_LORA_O]), RANK, ELEMENT, BACK_ADAPTER},
    {LAYER(low[LM_LORA_GATE]), RANK, ELEMENT, BACK_ADAPTER},
    {LAYER(low[LM_LORA_UP]), RANK, ELEMENT, BACK_ADAPTER},
    {LAYER(low[LM_LORA_DOWN]), RANK, ELEMENT, BACK_ADAPTER},
    {LAYER(inverse), ONE, FLOAT, BACKWARD},
    {LAYER(middle_inverse), ONE, FLOAT, BACKWARD},
    {LAYER(q_inverse), HEADS, FLOAT, NORMED_HEADS},
    {LAYER(k_inverse), KV_HEADS, FLOAT, NORMED_HEADS},
    {LAYER(lse), HEADS, FLOAT, BACKWARD},
};

/* Arrays that a forward-only pass shares instead of allocating. */
static const struct {
    size_t member, instead;
} forward_only[] = {
    {LAYER(middle), LAYER(input)},
    {LAYER(middle_normed), LAYER(normed)},
    {LAYER(gated), LAYER(gate)},
    {LAYER(low[LM_LORA_K]), LAYER(low[LM_LORA_Q])},
    {LAYER(low[LM_LORA_V]), LAYER(low[LM_LORA_Q])},
    {LAYER(low[LM_LORA_O]), LAYER(low[LM_LORA_Q])},
    {LAYER(low[LM_LORA_GATE]), LAYER(low[LM_LORA_Q])},
    {LAYER(low[LM_LORA_UP]), LAYER(low[LM_LORA_Q])},
    {LAYER(low[LM_LORA_DOWN]), LAYER(low[LM_LORA_Q])},
};

#define PASS(name) offsetof(struct lm_activations, name)
static const struct array pass_arrays[] = {
    {PASS(hidden), WIDTH, ELEMENT, ALWAYS},    {PASS(hidden_inverse), ONE, FLOAT, BACKWARD},
    {PASS(tokens), ONE, INTEGER, ALWAYS},      {PASS(positions), ONE, INTEGER, ALWAYS},
    {PASS(doutput), WIDTH, ELEMENT, BACKWARD}, {PASS(dnormed), WIDTH, ELEMENT, BACKWARD},
    {PASS(dq), QUERY, ELEMENT, BACKWARD},      {PASS(dk), KEY, ELEMENT, BACKWARD},
    {PASS(dv), KEY, ELEMENT, BACKWARD},        {PASS(dattended), QUERY, ELEMENT, BACKWARD},
    {PASS(dgated), INNER, ELEMENT, BACKWARD},  {PASS(dlow), RANK, ELEMENT, BACK_ADAPTER},
};
static const struct array head_arrays[] = {
    {PASS(logits), VOCAB, ELEMENT, ALWAYS},     {PASS(head_lse), ONE, FLOAT, ALWAYS},
    {PASS(head_entropy), ONE, FLOAT, ALWAYS},   {PASS(head_dentropy), ONE, FLOAT, BACKWARD},
    {PASS(head_collision), ONE, FLOAT, ALWAYS},
};
static const struct array input_array = {LAYER(input), WIDTH, ELEMENT, ALWAYS};
static const struct array output_array = {PASS(output), WIDTH, ELEMENT, ALWAYS};
static const struct array starts_array = {PASS(starts), ONE, INTEGER, ALWAYS};

/* Goes through the arrays in one order, to measure (memory NULL) or to carve. */
struct carving {
    const struct lm_model *model;
    const struct lm_pass_options *options;
    char *memory;
    uint64_t used;
    uint64_t units[UNITS];
};

static bool exists(const struct carving *carving, enum when when)
{
    bool backward = carving->options->backward, adapter = carving->model->lora.rank > 0;
    const bool answers[] = {
        [ALWAYS] = true,
        [BACKWARD] = backward,
        [NORMED_HEADS] = backward && carving->model->config.qk_norm,
        [WITH_ADAPTER] = adapter,
        [BACK_ADAPTER] = backward && adapter,
    };
    return answers[when];
}

/* Sets the pointer in `owner`, if there is one. */
static void carve(struct carving *carving, const struct array *array, uint64_t rows, void *owner)
{
    size_t sizes[] = {[ELEMENT] = lm_dtype_bytes(carving->model->backend->dtype),
                      [FLOAT] = sizeof(float),
                      [INTEGER] = sizeof(int32_t)};
    if (!exists(carving, array->when))
        return;
    uint64_t bytes = rows * carving->units[array->unit] * sizes[array->type];
    void *place = carving->memory ? carving->memory + carving->used : NULL;
    if (owner)
        memcpy((char *)owner + array->member, &place, sizeof place);
    carving->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void carve_layer(struct carving *carving, struct lm_layer_arrays *layer)
{
    for (size_t i = 0; i < COUNT(layer_arrays); i++)
        carve(carving, &layer_arrays[i], carving->options->rows, layer);
    if (carving->options->backward)
        return;
    for (size_t i = 0; i < COUNT(forward_only); i++)
        memcpy((char *)layer + forward_only[i].member, (char *)layer + forward_only[i].instead,
               sizeof(void *));
}

/* `layers` NULL: measures. Arrays that are not a layer's own are those of the first. */
static void carve_layers(struct carving *carving, struct lm_layer_arrays *layers)
{
    bool back = carving->options->backward, each = back && !carving->options->recompute;
    for (size_t i = 0; i < carving->model->config.layers; i++) {
        struct lm_layer_arrays layer = {0};
        if (layers && i > 0)
            layer = layers[0];
        if (back || i == 0)
            carve(carving, &input_array, carving->options->rows, &layer);
        if (each || i == 0)
            carve_layer(carving, &layer);
        if (layers)
            layers[i] = layer;
    }
}

static void carve_all(struct carving *carving, struct lm_activations *all,
                      struct lm_layer_arrays *layers)
{
    uint64_t rows = carving->options->rows;
    carve_layers(carving, layers);
    for (size_t i = 0; i < COUNT(pass_arrays); i++)
        carve(carving, &pass_arrays[i], rows, all);
    for (size_t i = 0; i < COUNT(head_arrays); i++)
        carve(carving, &head_arrays[i], carving->options->head_rows, all);
    carve(carving, &starts_array, rows + 1, all);
    if (carving->options->backward)
        carve(carving, &output_array, rows, all);
    else if (layers)
        all->output = layers[0].input;
}

static struct carving carving_of(const struct lm_model *model,
                                 const struct lm_pass_options *options)
{
    const struct lm_config *c = &model->config;
    return (struct carving){
        .model = model,
        .options = options,
        .units = {[WIDTH] = c->width,
                  [QUERY] = (uint64_t)c->heads * c->head_width,
                  [KEY] = (uint64_t)c->kv_heads * c->head_width,
                  [INNER] = c->inner,
                  [RANK] = model->lora.rank,
                  [ONE] = 1,
                  [HEADS] = c->heads,
                  [KV_HEADS] = c->kv_heads,
                  [VOCAB] = c->vocab},
    };
}

uint64_t lm_activations_bytes(const struct lm_model *model, const struct lm_pass_options *options)
{
    struct carving carving = carving_of(model, options);
    carve_all(&carving, NULL, NULL);
    return carving.used;
}

void lm_activations_carve(struct lm_activations *activations, struct lm_layer_arrays *layers,
                          const struct lm_model *model, const struct lm_pass_options *options,
                          void *memory)
{
    struct carving carving = carving_of(model, options);
    *activations = (struct lm_activations){.layers = layers};
    carving.memory = memory;
    carve_all(&carving, activations, layers);
}
