#include "lm/weights/config.h"
#include "lm/weights/config_parts.h"

#include <stdio.h>
#include <stdlib.h>

static json_t *size_json(size_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *token_json(int32_t token)
{
    return token < 0 ? json_null() : json_integer(token);
}

/* A float's shortest decimal, so that 1e-6f does not become 9.99999997e-07. */
static json_t *float_json(float value)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    return json_number(strtod(text, NULL));
}

static json_t *stops_json(const struct lm_config *config)
{
    if (config->stop_count < 2)
        return token_json(config->stop_count == 0 ? -1 : config->stop_tokens[0]);
    json_t *array = json_array();
    for (size_t i = 0; i < config->stop_count; i++)
        json_array_append_new(array, token_json(config->stop_tokens[i]));
    return array;
}

json_t *lm_config_json(const struct lm_config *config)
{
    const struct lm_family_row *family = &lm_families[config->family];
    json_t *object = json_object();
    json_t *architectures = json_array();
    json_array_append_new(architectures, json_text(family->architecture));
    json_put(object, "architectures", architectures);
    json_put(object, "model_type", json_text(family->name));
    json_put(object, "vocab_size", size_json(config->vocab));
    json_put(object, "hidden_size", size_json(config->width));
    json_put(object, "intermediate_size", size_json(config->inner));
    json_put(object, "num_hidden_layers", size_json(config->layers));
    json_put(object, "num_attention_heads", size_json(config->heads));
    json_put(object, "num_key_value_heads", size_json(config->kv_heads));
    json_put(object, "head_dim", size_json(config->head_width));
    json_put(object, "hidden_act", json_text("silu"));
    json_put(object, "max_position_embeddings", size_json(config->positions));
    json_put(object, "rms_norm_eps", float_json(config->norm_epsilon));
    json_put(object, "initializer_range", float_json(config->init_range));
    json_put(object, "rope_theta", json_number(config->rope.theta));
    json_put(object, "rope_scaling", lm_rope_json(&config->rope));
    json_put(object, "tie_word_embeddings", json_boolean(config->tied));
    if (family->attention_bias)
        json_put(object, "attention_bias", json_boolean(config->qkv_bias));
    if (family->mlp_bias)
        json_put(object, "mlp_bias", json_boolean(config->mlp_bias));
    if (config->family != LM_LLAMA)
        json_put(object, "use_sliding_window", json_false());
    json_put(object, "bos_token_id", token_json(config->begin_token));
    json_put(object, "eos_token_id", stops_json(config));
    json_put(object, "pad_token_id", token_json(config->pad_token));
    return object;
}

uint64_t lm_config_parameters(const struct lm_config *config)
{
    uint64_t width = config->width, inner = config->inner;
    uint64_t q = (uint64_t)config->heads * config->head_width;
    uint64_t kv = (uint64_t)config->kv_heads * config->head_width;
    uint64_t layer = width * (2 * q + 2 * kv + 3 * inner) + 2 * width;
    layer += config->qkv_bias ? q + 2 * kv : 0;
    layer += config->output_bias ? width : 0;
    layer += config->mlp_bias ? 2 * inner + width : 0;
    layer += config->qk_norm ? 2 * (uint64_t)config->head_width : 0;
    uint64_t ends = (uint64_t)config->vocab * width * (config->tied ? 1 : 2) + width;
    return ends + config->layers * layer;
}
