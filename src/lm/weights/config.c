#include "lm/weights/config.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/printable.h"
#include "lm/weights/config_parts.h"

#include <stddef.h>
#include <string.h>

const struct lm_family_row lm_families[LM_FAMILIES] = {
    [LM_QWEN2] = {"qwen2", "Qwen2ForCausalLM", 32768, 32, 0, -1, -1, .always_qkv_bias = true},
    [LM_QWEN3] = {"qwen3", "Qwen3ForCausalLM", 32768, 32, 128, -1, -1, .attention_bias = true,
                  .qk_norm = true},
    [LM_LLAMA] = {"llama", "LlamaForCausalLM", 2048, 0, 0, 1, 2, .attention_bias = true,
                  .mlp_bias = true},
};

const char *lm_family_name(enum lm_family family)
{
    return lm_families[family].name;
}

static int read_family(struct lm_config *config, const json_t *document, struct err *err)
{
    const char *name;
    int result = json_get_string(document, "model_type", &name, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < LM_FAMILIES; i++)
        if (strcmp(lm_families[i].name, name) == 0) {
            config->family = (enum lm_family)i;
            return 0;
        }
    return err_set(err, ERR_INPUT,
                   "'model_type' is '%.64s'; the engine knows qwen2, qwen3 and llama", name);
}

int lm_config_size(const json_t *document, const char *key, int64_t standard, int64_t most,
                   size_t *out, struct err *err)
{
    int64_t value = standard;
    int result = standard == 0 ? json_get_int(document, key, &value, err)
                               : json_find_int(document, key, &value, err);
    if (result < 0)
        return result;
    if (value < 1 || value > most)
        return err_set(err, ERR_LIMIT, "'%s' is %lld; 1 to %lld is possible", key, (long long)value,
                       (long long)most);
    *out = (size_t)value;
    return 0;
}

static int read_sizes(struct lm_config *config, const json_t *document, struct err *err)
{
    const struct lm_family_row *family = &lm_families[config->family];
    const struct {
        const char *key;
        int64_t standard, most;
        size_t *out;
    } sizes[] = {
        {"vocab_size", 0, LIMIT_LM_VOCAB, &config->vocab},
        {"hidden_size", 0, LIMIT_LM_WIDTH, &config->width},
        {"intermediate_size", 0, LIMIT_LM_INNER, &config->inner},
        {"num_hidden_layers", 0, LIMIT_LM_LAYERS, &config->layers},
        {"num_attention_heads", 0, LIMIT_LM_HEADS, &config->heads},
        {"max_position_embeddings", family->positions, LIMIT_LM_POSITIONS, &config->positions},
    };
    int result = 0;
    for (size_t i = 0; i < COUNT(sizes) && result == 0; i++)
        result = lm_config_size(document, sizes[i].key, sizes[i].standard, sizes[i].most,
                                sizes[i].out, err);
    if (result != 0)
        return result;
    /* Null is not the same as silence here: null derives, silence takes the class's number. */
    const json_t *kv_heads = json_object_get(document, "num_key_value_heads");
    bool derived = kv_heads ? json_is_null(kv_heads) : family->kv_heads == 0;
    result = lm_config_size(document, "num_key_value_heads",
                            derived ? (int64_t)config->heads : family->kv_heads, LIMIT_LM_HEADS,
                            &config->kv_heads, err);
    if (result < 0)
        return result;
    const json_t *head_width = json_object_get(document, "head_dim");
    derived = head_width ? json_is_null(head_width) : family->head_width == 0;
    if (derived && config->width % config->heads != 0)
        return err_set(err, ERR_INPUT,
                       "'hidden_size' %zu is no multiple of 'num_attention_heads' %zu",
                       config->width, config->heads);
    return lm_config_size(document, "head_dim",
                          derived ? (int64_t)(config->width / config->heads) : family->head_width,
                          LIMIT_LM_HEAD_WIDTH, &config->head_width, err);
}

static int read_rest(struct lm_config *config, const json_t *document, struct err *err)
{
    const struct lm_family_row *family = &lm_families[config->family];
    const char *activation = "silu";
    double epsilon = 1e-6, range = 0.02;
    bool attention_bias = false, mlp_bias = false;
    int result = json_find_string(document, "hidden_act", &activation, err);
    if (result == 0 && strcmp(activation, "silu") != 0)
        result = err_set(err, ERR_INPUT, "'hidden_act' is '%.64s'; the engine knows silu",
                         activation);
    if (result == 0)
        result = json_find_double(document, "rms_norm_eps", &epsilon, err);
    if (result == 0)
        result = json_find_double(document, "initializer_range", &range, err);
    if (result == 0)
        result = json_find_bool(document, "tie_word_embeddings", &config->tied, err);
    if (result == 0 && family->attention_bias)
        result = json_find_bool(document, "attention_bias", &attention_bias, err);
    if (result == 0 && family->mlp_bias)
        result = json_find_bool(document, "mlp_bias", &mlp_bias, err);
    config->norm_epsilon = (float)epsilon;
    config->init_range = (float)range;
    config->qkv_bias = family->always_qkv_bias || attention_bias;
    config->output_bias = attention_bias;
    config->mlp_bias = mlp_bias;
    config->qk_norm = family->qk_norm;
    return result;
}

/* What would make another model of the same weights. */
static int refuse_others(const struct lm_config *config, const json_t *document, struct err *err)
{
    if (json_object_size(json_object_get(document, "quantization_config")) > 0)
        return err_set(err, ERR_INPUT,
                       "'quantization_config': the engine reads no quantised "
                       "weights; take the original checkpoint");
    json_t *types = NULL;
    int result = json_find_array(document, "layer_types", &types, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (!type || strcmp(type, "full_attention") != 0)
            return err_set(err, ERR_INPUT,
                           "'layer_types' has '%.64s' for layer %zu; the engine knows "
                           "full_attention",
                           type ? type : "no name", i);
    }
    bool sliding = false;
    int64_t window = 4096, whole_layers = 28; /* Qwen's, where the file is silent */
    result = json_find_bool(document, "use_sliding_window", &sliding, err);
    if (result < 0 || !sliding || types || config->family == LM_LLAMA ||
        json_is_null(json_object_get(document, "sliding_window")))
        return result;
    if ((result = json_find_int(document, "sliding_window", &window, err)) < 0 ||
        (result = json_find_int(document, "max_window_layers", &whole_layers, err)) < 0)
        return result;
    if (whole_layers >= (int64_t)config->layers)
        return 0;
    return err_set(err, ERR_INPUT,
                   "'use_sliding_window' is on (windows of %lld from layer %lld on); the engine "
                   "knows full attention only",
                   (long long)window, (long long)whole_layers);
}

static int read_token(const json_t *document, const char *key, int32_t standard, int32_t *out,
                      struct err *err)
{
    const json_t *given = json_object_get(document, key);
    int64_t value = given ? -1 : standard;
    int result = json_find_int(document, key, &value, err);
    if (result == 0 && value > INT32_MAX)
        result = err_set(err, ERR_INPUT, "'%s' is %lld, which no token has", key, (long long)value);
    *out = value < 0 ? -1 : (int32_t)value;
    return result;
}

static int add_stop(struct lm_config *config, const json_t *value, struct err *err)
{
    int64_t token = json_integer_value(value);
    if (!json_is_integer(value) || token > INT32_MAX)
        return err_set(err, ERR_INPUT, "'eos_token_id' must be a token or a list of tokens");
    if (token < 0)
        return 0;
    for (size_t i = 0; i < config->stop_count; i++)
        if (config->stop_tokens[i] == (int32_t)token)
            return 0;
    if (config->stop_count == LM_STOP_TOKENS_MAX)
        return err_set(err, ERR_LIMIT, "'eos_token_id' has more than %d tokens",
                       LM_STOP_TOKENS_MAX);
    config->stop_tokens[config->stop_count++] = (int32_t)token;
    return 0;
}

/* "eos_token_id": a token, a list of them or null. */
static int read_stops(void *into, const json_t *document, struct err *err)
{
    struct lm_config *config = into;
    const json_t *value = json_object_get(document, "eos_token_id");
    int result = 0;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_array(value))
        return add_stop(config, value, err);
    for (size_t i = 0; i < json_array_size(value) && result == 0; i++)
        result = add_stop(config, json_array_get(value, i), err);
    return result;
}

static int read_tokens(struct lm_config *config, const json_t *document, struct err *err)
{
    const struct lm_family_row *family = &lm_families[config->family];
    int result = read_token(document, "bos_token_id", family->begin, &config->begin_token, err);
    if (result == 0)
        result = read_token(document, "pad_token_id", -1, &config->pad_token, err);
    if (result == 0)
        result = read_stops(config, document, err);
    if (result == 0 && family->stop >= 0 && !json_object_get(document, "eos_token_id"))
        config->stop_tokens[config->stop_count++] = family->stop;
    return result;
}

int lm_config_parse(struct lm_config *config, const json_t *document, struct err *err)
{
    *config = (struct lm_config){.begin_token = -1, .pad_token = -1};
    if (!json_is_object(document))
        return err_set(err, ERR_INPUT, "a model's configuration must be an object");
    int result = read_family(config, document, err);
    if (result == 0)
        result = read_sizes(config, document, err);
    if (result == 0)
        result = read_rest(config, document, err);
    if (result == 0)
        result = refuse_others(config, document, err);
    if (result == 0)
        result = lm_rope_read(config, document, err);
    if (result == 0)
        result = read_tokens(config, document, err);
    if (result == 0)
        result = lm_config_check(config, err);
    return lm_weights_result(result, err);
}

int lm_weights_result(int result, struct err *err)
{
    if (result < 0 && err)
        printable_text(err->text, false);
    return result;
}

int lm_weights_read(const char *directory, const char *name,
                    int (*read)(void *into, const json_t *document, struct err *err), void *into,
                    struct err *err)
{
    json_t *document = NULL;
    char *path = mem_printf("%s/%s", directory, name);
    int result = lm_weights_result(json_file_read(path, LIMIT_LM_JSON_BYTES, &document, err), err);
    if (result == 0 && (result = read(into, document, err)) < 0)
        err_prefix(err, "%s", path);
    json_decref(document);
    mem_free(path);
    return result;
}

static int parse_config(void *config, const json_t *document, struct err *err)
{
    return lm_config_parse(config, document, err);
}

int lm_config_read(struct lm_config *config, const char *directory, struct err *err)
{
    int result = lm_weights_read(directory, "config.json", parse_config, config, err);
    if (result < 0)
        return result;
    result = lm_weights_read(directory, "generation_config.json", read_stops, config, err);
    return result == ERR_MISSING ? 0 : result;
}

static int check_sizes(const struct lm_config *config, struct err *err)
{
    const struct {
        const char *name;
        size_t value;
        int64_t most;
    } sizes[] = {
        {"vocab_size", config->vocab, LIMIT_LM_VOCAB},
        {"hidden_size", config->width, LIMIT_LM_WIDTH},
        {"intermediate_size", config->inner, LIMIT_LM_INNER},
        {"num_hidden_layers", config->layers, LIMIT_LM_LAYERS},
        {"num_attention_heads", config->heads, LIMIT_LM_HEADS},
        {"num_key_value_heads", config->kv_heads, LIMIT_LM_HEADS},
        {"head_dim", config->head_width, LIMIT_LM_HEAD_WIDTH},
        {"max_position_embeddings", config->positions, LIMIT_LM_POSITIONS},
    };
    for (size_t i = 0; i < COUNT(sizes); i++)
        if (sizes[i].value < 1 || sizes[i].value > (size_t)sizes[i].most)
            return err_set(err, ERR_LIMIT, "'%s' is %zu; 1 to %lld is possible", sizes[i].name,
                           sizes[i].value, (long long)sizes[i].most);
    if (config->heads % config->kv_heads != 0)
        return err_set(err, ERR_INPUT,
                       "'num_attention_heads' %zu is no multiple of 'num_key_value_heads' %zu",
                       config->heads, config->kv_heads);
    if (config->head_width % 2 != 0)
        return err_set(err, ERR_INPUT,
                       "a head of width %zu has no halves to turn: 'head_dim' must "
                       "be even",
                       config->head_width);
    if (config->heads * config->head_width > (size_t)LIMIT_LM_WIDTH)
        return err_set(err, ERR_LIMIT, "%zu heads of width %zu are wider than %lld together",
                       config->heads, config->head_width, (long long)LIMIT_LM_WIDTH);
    if (config->family == LM_LLAMA && config->width % config->heads != 0)
        return err_set(err, ERR_INPUT,
                       "'hidden_size' %zu is no multiple of 'num_attention_heads' %zu, as Llama's "
                       "must be",
                       config->width, config->heads);
    return 0;
}

/* A config.json of the family could not say it. */
static int check_family(const struct lm_config *config, struct err *err)
{
    if ((size_t)config->family >= LM_FAMILIES)
        return err_set(err, ERR_INPUT, "there is no family %d", (int)config->family);
    const struct lm_family_row *family = &lm_families[config->family];
    bool qkv = family->attention_bias
                   ? config->qkv_bias == config->output_bias
                   : config->qkv_bias == family->always_qkv_bias && !config->output_bias;
    if (!qkv || (config->mlp_bias && !family->mlp_bias) || config->qk_norm != family->qk_norm)
        return err_set(err, ERR_INPUT, "biases and head norms are not those of %s", family->name);
    return 0;
}

int lm_config_check(const struct lm_config *config, struct err *err)
{
    int result = check_family(config, err);
    if (result == 0)
        result = check_sizes(config, err);
    if (result == 0 && !(config->norm_epsilon > 0 && config->norm_epsilon < 1))
        result = err_set(err, ERR_INPUT, "'rms_norm_eps' is %g; it must be above 0 and below 1",
                         (double)config->norm_epsilon);
    if (result == 0 && !(config->init_range >= 0 && config->init_range <= 1))
        result = err_set(err, ERR_INPUT, "'initializer_range' is %g; 0 to 1 is possible",
                         (double)config->init_range);
    if (result == 0)
        result = lm_rope_check(&config->rope, err);
    if (result == 0 && config->stop_count > LM_STOP_TOKENS_MAX)
        result = err_set(err, ERR_LIMIT, "more than %d stop tokens", LM_STOP_TOKENS_MAX);
    return result;
}
