#include "lm/model/model.h"

#include "base/limits.h"
#include "base/mem.h"
#include "lm/model/build.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of one layer at most: two norms, two of heads, and weight, bias, A and B of each projection. */
#define PER_LAYER (4 + 4 * LM_LORA_TARGET_COUNT)
/* Of a parameter in its block: what GPUs want; a cache line is less. */
#define ARRAY_ALIGNMENT ((size_t)256)

/* Sizes of one projection, and where it lies. */
struct projection_shape {
    const char *block;
    size_t out, in;
    bool bias;
};

static struct projection_shape shape_of(const struct lm_config *c, enum lm_lora_target target)
{
    size_t q = c->heads * c->head_width, kv = c->kv_heads * c->head_width;
    const struct projection_shape shapes[LM_LORA_TARGET_COUNT] = {
        [LM_LORA_Q] = {"self_attn", q, c->width, c->qkv_bias},
        [LM_LORA_K] = {"self_attn", kv, c->width, c->qkv_bias},
        [LM_LORA_V] = {"self_attn", kv, c->width, c->qkv_bias},
        [LM_LORA_O] = {"self_attn", c->width, q, c->output_bias},
        [LM_LORA_GATE] = {"mlp", c->inner, c->width, c->mlp_bias},
        [LM_LORA_UP] = {"mlp", c->inner, c->width, c->mlp_bias},
        [LM_LORA_DOWN] = {"mlp", c->width, c->inner, c->mlp_bias},
    };
    return shapes[target];
}

enum parameter_kind { MATRIX, VECTOR, ADAPTER };

__attribute__((format(printf, 5, 6))) static struct lm_parameter *add(struct lm_model *model,
                                                                      enum parameter_kind kind,
                                                                      size_t rows, size_t columns,
                                                                      const char *format, ...)
{
    struct lm_parameter *parameter = &model->parameters[model->parameter_count++];
    va_list args;
    *parameter = (struct lm_parameter){.rows = rows,
                                       .columns = columns,
                                       .vector = kind == VECTOR,
                                       .adapter = kind == ADAPTER};
    va_start(args, format);
    vsnprintf(parameter->name, sizeof parameter->name, format, args);
    va_end(args);
    return parameter;
}

static void add_projection(struct lm_model *model, size_t layer, enum lm_lora_target target)
{
    struct lm_projection *p = &model->layers[layer].projections[target];
    struct lm_parameter **head_norm = target == LM_LORA_Q   ? &model->layers[layer].q_norm
                                      : target == LM_LORA_K ? &model->layers[layer].k_norm
                                                            : NULL;
    struct projection_shape shape = shape_of(&model->config, target);
    char path[LM_PARAMETER_NAME_MAX / 2];
    snprintf(path, sizeof path, "model.layers.%zu.%s.%s", layer, shape.block,
             lm_lora_target_name(target));
    p->weight = add(model, MATRIX, shape.out, shape.in, "%s.weight", path);
    if (shape.bias)
        p->bias = add(model, VECTOR, 1, shape.out, "%s.bias", path);
    if (head_norm && model->config.qk_norm)
        *head_norm = add(model, VECTOR, 1, model->config.head_width,
                         "model.layers.%zu.self_attn.%s.weight", layer,
                         target == LM_LORA_Q ? "q_norm" : "k_norm");
    if (model->lora.rank > 0 && (model->lora.targets >> target & 1)) {
        p->a = add(model, ADAPTER, model->lora.rank, shape.in, "%s.lora_A.weight", path);
        p->b = add(model, ADAPTER, shape.out, model->lora.rank, "%s.lora_B.weight", path);
    }
}

static void declare_all(struct lm_model *model)
{
    const struct lm_config *c = &model->config;
    model->embedding = add(model, MATRIX, c->vocab, c->width, "model.embed_tokens.weight");
    for (size_t i = 0; i < c->layers; i++) {
        struct lm_layer *layer = &model->layers[i];
        layer->attention_norm = add(model, VECTOR, 1, c->width,
                                    "model.layers.%zu.input_layernorm.weight", i);
        layer->mlp_norm = add(model, VECTOR, 1, c->width,
                              "model.layers.%zu.post_attention_layernorm.weight", i);
        for (enum lm_lora_target target = 0; target < LM_LORA_TARGET_COUNT; target++)
            add_projection(model, i, target);
    }
    model->final_norm = add(model, VECTOR, 1, c->width, "model.norm.weight");
    model->head = c->tied ? model->embedding
                          : add(model, MATRIX, c->vocab, c->width, "lm_head.weight");
}

static int check_lora(const struct lm_lora *lora, enum lm_training training, struct err *err)
{
    if (lora->rank == 0)
        return training == LM_TRAIN_ADAPTER
                   ? err_set(err, ERR_INPUT,
                             "there is no adapter to train: give it a rank, or train all weights")
                   : 0;
    if (lora->rank > LIMIT_LM_RANK)
        return err_set(err, ERR_LIMIT, "an adapter of rank %zu; %d is the most", lora->rank,
                       LIMIT_LM_RANK);
    if (lora->targets == 0 || lora->targets >> LM_LORA_TARGET_COUNT)
        return err_set(err, ERR_INPUT, "an adapter that sits on no known layer");
    return 0;
}

int lm_model_declare(struct lm_model **out, const struct lm_config *config,
                     const struct lm_lora *lora, struct lm_backend *backend,
                     const struct lm_model_options *options, struct err *err)
{
    int result = lm_config_check(config, err);
    if (result == 0)
        result = check_lora(lora, options->training, err);
    if (result < 0)
        return result;
    struct lm_model *model = mem_alloc(sizeof *model);
    size_t most = config->layers * PER_LAYER + 3;
    *model = (struct lm_model){.config = *config, .lora = *lora, .backend = backend};
    model->positions = config->positions;
    if (options->positions > 0 && options->positions < config->positions)
        model->positions = options->positions;
    model->parameters = mem_alloc(most * sizeof *model->parameters);
    model->layers = mem_alloc(config->layers * sizeof *model->layers);
    declare_all(model);
    *out = model;
    return 0;
}

static bool is_trained(const struct lm_parameter *parameter, enum lm_training training)
{
    return training == LM_TRAIN_ALL || (training == LM_TRAIN_ADAPTER && parameter->adapter);
}

static size_t offset_after(const struct lm_model *model, const struct lm_parameter *parameter,
                           size_t offset)
{
    size_t bytes = parameter->rows * parameter->columns * lm_dtype_bytes(model->backend->dtype);
    return offset + (bytes + ARRAY_ALIGNMENT - 1) / ARRAY_ALIGNMENT * ARRAY_ALIGNMENT;
}

/* Values lie in one block, gradients in another: large pages, and one call to zero them. */
int lm_model_allocate(struct lm_model *model, enum lm_training training, struct err *err)
{
    struct lm_backend *backend = model->backend;
    size_t values = 0, gradients = 0;
    for (size_t i = 0; i < model->parameter_count; i++) {
        values = offset_after(model, &model->parameters[i], values);
        if (is_trained(&model->parameters[i], training))
            gradients = offset_after(model, &model->parameters[i], gradients);
    }
    model->gradient_bytes = gradients;
    int result = lm_backend_alloc(backend, values, "the model's parameters", &model->values, err);
    if (result == 0 && gradients > 0)
        result = lm_backend_alloc(backend, gradients, "the gradients", &model->gradients, err);
    if (result < 0)
        return result;
    lm_model_zero_gradients(model);
    values = gradients = 0;
    for (size_t i = 0; i < model->parameter_count; i++) {
        struct lm_parameter *parameter = &model->parameters[i];
        parameter->value = (char *)model->values + values;
        values = offset_after(model, parameter, values);
        if (!is_trained(parameter, training))
            continue;
        parameter->gradient = (char *)model->gradients + gradients;
        gradients = offset_after(model, parameter, gradients);
    }
    return lm_rope_tables(&model->config, model->positions, backend, &model->cosine, &model->sine,
                          err);
}

int lm_model_fresh(struct lm_model **out, const struct lm_config *config,
                   struct lm_backend *backend, const struct lm_model_options *options,
                   struct err *err)
{
    *out = NULL;
    if (options->adapter)
        return err_set(err, ERR_INPUT,
                       "an adapter from a file needs the model that it was made "
                       "for, not a fresh one");
    struct lm_model *model = NULL;
    int result = lm_model_declare(&model, config, &options->lora, backend, options, err);
    if (result == 0)
        result = lm_model_allocate(model, options->training, err);
    if (result == 0) {
        lm_fresh_base(model, options->seed);
        lm_fresh_adapter(model, options->seed);
        result = lm_backend_wait(backend, err);
    }
    if (result < 0)
        lm_model_close(model);
    else
        *out = model;
    return result;
}

int lm_model_twin(struct lm_model **out, const struct lm_model *model, struct lm_backend *backend,
                  struct err *err)
{
    const struct lm_model_options options = {.training = LM_FROZEN, .positions = model->positions};
    struct lm_model *twin = NULL;
    int result = lm_model_declare(&twin, &model->config, &model->lora, backend, &options, err);
    if (result < 0)
        return result;
    if (model->gradient_bytes > 0)
        result = lm_backend_alloc(backend, model->gradient_bytes,
                                  "the sampler's copy of what is trained", &twin->values, err);
    if (result == 0)
        result = lm_rope_tables(&twin->config, twin->positions, backend, &twin->cosine, &twin->sine,
                                err);
    if (result < 0) {
        lm_model_close(twin);
        return result;
    }
    for (size_t i = 0; i < model->parameter_count; i++) {
        const struct lm_parameter *from = &model->parameters[i];
        twin->parameters[i].value = from->value;
        if (from->gradient) /* copies lie as gradients do */
            twin->parameters[i].value = (char *)twin->values +
                                        ((char *)from->gradient - (char *)model->gradients);
    }
    lm_model_twin_update(twin, model);
    *out = twin;
    return 0;
}

void lm_model_twin_round(struct lm_model *twin, unsigned bits)
{
    twin->dropped_bits = LM_MANTISSA_BITS - bits;
}

static void round_value(struct lm_backend *backend, void *value, size_t count, unsigned dropped)
{
    const uint32_t half = (UINT32_C(1) << dropped) / 2 - 1;
    uint32_t *bits = mem_alloc(count * sizeof *bits);
    backend->download(backend, bits, value, count * sizeof *bits);
    for (size_t i = 0; i < count; i++) {
        uint32_t odd = bits[i] >> dropped & 1;
        bits[i] = (bits[i] + half + odd) >> dropped << dropped;
    }
    backend->upload(backend, value, bits, count * sizeof *bits);
    mem_free(bits);
}

void lm_model_twin_update(struct lm_model *twin, const struct lm_model *model)
{
    struct lm_backend *backend = twin->backend;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const struct lm_parameter *from = &model->parameters[i];
        size_t count = from->rows * from->columns;
        if (!from->gradient)
            continue;
        backend->copy(backend, twin->parameters[i].value, from->value,
                      count * lm_dtype_bytes(backend->dtype));
        if (twin->dropped_bits > 0)
            round_value(backend, twin->parameters[i].value, count, twin->dropped_bits);
    }
    twin->lora = model->lora; /* a loaded adapter brings its alpha */
    twin->version++;
}

/* Values of the adapter in one block, and its gradients, where it is trained, in another alike. */
static int allocate_adapter(struct lm_model *model, bool trained, struct err *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < model->parameter_count; i++)
        if (model->parameters[i].adapter)
            bytes = offset_after(model, &model->parameters[i], bytes);
    model->gradient_bytes = trained ? bytes : 0;
    int result = bytes == 0 ? 0
                            : lm_backend_alloc(model->backend, bytes, "the adapter's parameters",
                                               &model->values, err);
    if (result == 0 && model->gradient_bytes > 0)
        result = lm_backend_alloc(model->backend, bytes, "the gradients", &model->gradients, err);
    return result < 0 ? result
                      : lm_rope_tables(&model->config, model->positions, model->backend,
                                       &model->cosine, &model->sine, err);
}

int lm_model_attach(struct lm_model **out, const struct lm_model *base, struct lm_backend *backend,
                    const struct lm_model_options *options, struct err *err)
{
    struct lm_model_options own = *options;
    struct lm_model *model = NULL;
    own.positions = base->positions;
    int result = lm_model_declare(&model, &base->config, &options->lora, backend, &own, err);
    if (result == 0)
        result = allocate_adapter(model, options->training == LM_TRAIN_ADAPTER, err);
    if (result < 0) {
        lm_model_close(model);
        return result;
    }
    lm_model_zero_gradients(model);
    size_t offset = 0, from = 0;
    for (size_t i = 0; i < model->parameter_count; i++) {
        struct lm_parameter *parameter = &model->parameters[i];
        if (parameter->adapter) {
            parameter->value = (char *)model->values + offset;
            if (model->gradients)
                parameter->gradient = (char *)model->gradients + offset;
            offset = offset_after(model, parameter, offset);
            continue;
        }
        while (base->parameters[from].adapter)
            from++;
        parameter->value = base->parameters[from++].value;
    }
    lm_fresh_adapter(model, options->seed);
    result = lm_backend_wait(backend, err);
    if (result < 0)
        lm_model_close(model);
    else
        *out = model;
    return result;
}

void lm_model_close(struct lm_model *model)
{
    if (!model)
        return;
    struct lm_backend *backend = model->backend;
    backend->free(backend, model->values);
    backend->free(backend, model->gradients);
    backend->free(backend, model->cosine);
    backend->free(backend, model->sine);
    mem_free(model->parameters);
    mem_free(model->layers);
    mem_free(model);
}

uint64_t lm_model_count(const struct lm_model *model)
{
    uint64_t count = 0;
    for (size_t i = 0; i < model->parameter_count; i++)
        count += (uint64_t)model->parameters[i].rows * model->parameters[i].columns;
    return count;
}

uint64_t lm_model_trained(const struct lm_model *model)
{
    uint64_t count = 0;
    for (size_t i = 0; i < model->parameter_count; i++)
        if (model->parameters[i].gradient)
            count += (uint64_t)model->parameters[i].rows * model->parameters[i].columns;
    return count;
}

struct lm_parameter *lm_model_find(const struct lm_model *model, const char *name)
{
    for (size_t i = 0; i < model->parameter_count; i++)
        if (strcmp(model->parameters[i].name, name) == 0)
            return &model->parameters[i];
    return NULL;
}

int lm_model_check_ids(const struct lm_model *model, const int32_t *ids, size_t count,
                       size_t per_row, const char *what, struct err *err)
{
    size_t vocab = model->config.vocab;
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= vocab)
            return err_set(err, ERR_INPUT,
                           "row %zu: %s %" PRId32 " is not in the vocabulary of %zu", i / per_row,
                           what, ids[i], vocab);
    return 0;
}

void lm_model_zero_gradients(struct lm_model *model)
{
    model->backend->zero(model->backend, model->gradients, model->gradient_bytes);
}
