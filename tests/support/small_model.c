#include "small_model.h"

#include "base/mem.h"
#include "lm/model/value.h"
#include "test.h"

#include <math.h>

struct lm_config small_config(void)
{
    return (struct lm_config){
        .family = LM_QWEN3,
        .vocab = SMALL_VOCAB,
        .width = 12,
        .inner = 20,
        .layers = 3,
        .heads = 4,
        .kv_heads = 2,
        .head_width = 6,
        .positions = SMALL_POSITIONS,
        .norm_epsilon = 1e-5F,
        .init_range = 0.3F,
        .rope = {.kind = LM_ROPE_DEFAULT, .theta = 10000, .truncate = true},
        .qk_norm = true,
        .begin_token = -1,
        .pad_token = -1,
    };
}

struct lm_backend *small_backend(const char *name)
{
    struct lm_backend *backend;
    struct err err;
    assert_ok(lm_backend_open(&backend, name, 1, &err), &err);
    return backend;
}

struct lm_model *small_seeded(struct lm_backend *backend, const struct lm_config *config,
                              enum lm_training training, size_t rank, uint64_t seed)
{
    struct lm_model_options options = {
        .training = training,
        .seed = seed,
        .lora = {.rank = rank, .alpha = 6, .targets = rank > 0 ? SMALL_TARGETS : 0},
    };
    const struct lm_config standard = small_config();
    struct lm_model *model;
    struct err err;
    assert_ok(lm_model_fresh(&model, config ? config : &standard, backend, &options, &err), &err);
    return model;
}

struct lm_model *small_fresh(struct lm_backend *backend, const struct lm_config *config,
                             enum lm_training training, size_t rank)
{
    return small_seeded(backend, config, training, rank, 7);
}

void small_disturb(struct lm_model *model)
{
    for (size_t i = 0; i < model->parameter_count; i++) {
        struct lm_parameter *p = &model->parameters[i];
        float *values = small_values(model, p);
        for (size_t at = 0; at < p->rows * p->columns; at++)
            values[at] += 0.2F * sinf((float)(3 * at + 5 * i + 1));
        lm_value_put(model->backend, p->value, 0, values, p->rows * p->columns);
        mem_free(values);
    }
}

static float *elements(const struct lm_model *model, const struct lm_parameter *p,
                       const void *array)
{
    float *values = mem_alloc(p->rows * p->columns * sizeof *values);
    lm_value_get(model->backend, array, 0, values, p->rows * p->columns);
    return values;
}

float *small_values(const struct lm_model *model, const struct lm_parameter *parameter)
{
    return elements(model, parameter, parameter->value);
}

float *small_gradients(const struct lm_model *model, const struct lm_parameter *parameter)
{
    return elements(model, parameter, parameter->gradient);
}

float *small_trained(const struct lm_model *model, bool gradients)
{
    float *all = mem_alloc(lm_model_trained(model) * sizeof *all), *at = all;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const struct lm_parameter *p = &model->parameters[i];
        if (!p->gradient)
            continue;
        lm_value_get(model->backend, gradients ? p->gradient : p->value, 0, at,
                     p->rows * p->columns);
        at += p->rows * p->columns;
    }
    return all;
}
