#include "lm/weights/adapter.h"

#include "base/array.h"
#include "base/limits.h"
#include "lm/weights/config_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALL_TARGETS ((1U << LM_LORA_TARGET_COUNT) - 1)

static const char *const targets[] = {
#define X(symbol, name) [symbol] = (name),
    LM_LORA_TARGETS(X)
#undef X
};

const char *lm_lora_target_name(enum lm_lora_target target)
{
    return targets[target];
}

double lm_lora_scale(const struct lm_lora *lora)
{
    if (lora->rank == 0)
        return 0;
    double rank = (double)lora->rank;
    return lora->alpha / (lora->rank_stabilised ? sqrt(rank) : rank);
}

uint64_t lm_lora_parameters(const struct lm_lora *lora, const struct lm_config *config)
{
    uint64_t q = (uint64_t)config->heads * config->head_width;
    uint64_t kv = (uint64_t)config->kv_heads * config->head_width;
    const uint64_t sides[] = {
        [LM_LORA_Q] = config->width + q,
        [LM_LORA_K] = config->width + kv,
        [LM_LORA_V] = config->width + kv,
        [LM_LORA_O] = q + config->width,
        [LM_LORA_GATE] = config->width + config->inner,
        [LM_LORA_UP] = config->width + config->inner,
        [LM_LORA_DOWN] = config->inner + config->width,
    };
    uint64_t sum = 0;
    for (size_t i = 0; i < LM_LORA_TARGET_COUNT; i++)
        sum += lora->targets & 1U << i ? sides[i] : 0;
    return sum * lora->rank * config->layers;
}

/* Keys of PEFT's that, when they say anything, make another adapter of the same tensors or need
 * tensors that the engine has no place for. */
static const char *const unknown_when_set[] = {
    "alora_invocation_tokens",
    "alpha_pattern",
    "arrow_config",
    "corda_config",
    "exclude_modules",
    "kasa_config",
    "layer_replication",
    "layers_pattern",
    "layers_to_transform",
    "loftq_config",
    "lora_bias",
    "lora_ga_config",
    "megatron_config",
    "modules_to_save",
    "monteclora_config",
    "rank_pattern",
    "target_parameters",
    "trainable_token_indices",
    "use_bdlora",
    "use_dora",
    "use_qalora",
    "velora_config",
};

static bool is_unset(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

/* Initialisations that change the base model's weights: without those the adapter is half of it. */
static int check_initialisation(const json_t *document, struct err *err)
{
    static const char *const harmless[] = {"gaussian", "eva", "orthogonal"};
    const json_t *value = json_object_get(document, "init_lora_weights");
    const char *name = json_string_value(value);
    if (!name)
        return 0;
    for (size_t i = 0; i < COUNT(harmless); i++)
        if (strcmp(harmless[i], name) == 0)
            return 0;
    return err_set(err, ERR_INPUT,
                   "'init_lora_weights' is '%.64s', which changes the base model; convert the "
                   "adapter to a plain one with PEFT",
                   name);
}

static int refuse_others(const json_t *document, struct err *err)
{
    const struct {
        const char *key, *standard;
    } words[] = {{"peft_type", "LORA"}, {"task_type", "CAUSAL_LM"}, {"bias", "none"}};
    for (size_t i = 0; i < COUNT(words); i++) {
        const char *value = words[i].standard;
        int result = i == 0 ? json_get_string(document, words[i].key, &value, err)
                            : json_find_string(document, words[i].key, &value, err);
        if (result < 0)
            return result;
        if (strcmp(value, words[i].standard) != 0)
            return err_set(err, ERR_INPUT, "'%s' is '%.64s'; the engine knows %s", words[i].key,
                           value, words[i].standard);
    }
    for (size_t i = 0; i < COUNT(unknown_when_set); i++)
        if (!is_unset(json_object_get(document, unknown_when_set[i])))
            return err_set(err, ERR_INPUT, "'%s' is set, which the engine does not know",
                           unknown_when_set[i]);
    return check_initialisation(document, err);
}

static bool is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0;
}

/* "q_proj", "self_attn.q_proj" or "model.layers.3.self_attn.q_proj": PEFT takes any end of a
 * module's path, and writes whole ones for all-linear. Whether all layers are named shows when the
 * tensors are read: that of a layer which is not would be missing. */
static bool names_target(const char *name, size_t target)
{
    const char *const path[] = {targets[target], target < LM_LORA_GATE ? "self_attn" : "mlp",
                                NULL /* a number */, "layers", "model"};
    size_t end = strlen(name);
    for (size_t i = 0; i < COUNT(path); i++) {
        size_t start = end;
        while (start > 0 && name[start - 1] != '.')
            start--;
        size_t length = end - start;
        if (path[i] ? length != strlen(path[i]) || memcmp(name + start, path[i], length) != 0
                    : !is_number(name + start, length))
            return false;
        if (start == 0)
            return true;
        end = start - 1;
    }
    return false;
}

static int add_target(struct lm_lora *lora, const char *name, struct err *err)
{
    for (size_t i = 0; i < LM_LORA_TARGET_COUNT; i++)
        if (names_target(name, i)) {
            lora->targets |= 1U << i;
            return 0;
        }
    return err_set(err, ERR_INPUT,
                   "'target_modules' has '%.64s'; the engine knows q_proj, k_proj, v_proj, o_proj, "
                   "gate_proj, up_proj and down_proj",
                   name);
}

static int read_targets(struct lm_lora *lora, const json_t *document, struct err *err)
{
    const json_t *value = json_object_get(document, "target_modules");
    const char *word = json_string_value(value);
    int result = 0;
    if (word && strcmp(word, "all-linear") == 0) {
        lora->targets = ALL_TARGETS;
        return 0;
    }
    if (word)
        return err_set(err, ERR_INPUT,
                       "'target_modules' is the pattern '%.64s'; the engine wants a list of names, "
                       "or all-linear",
                       word);
    if (json_array_size(value) == 0)
        return err_set(err, ERR_INPUT, "'target_modules' must be a list of names, or all-linear");
    for (size_t i = 0; i < json_array_size(value) && result == 0; i++) {
        const char *name = json_string_value(json_array_get(value, i));
        result = name ? add_target(lora, name, err)
                      : err_set(err, ERR_INPUT, "item %zu of 'target_modules' is no name", i);
    }
    return result;
}

int lm_adapter_parse(struct lm_lora *lora, const json_t *document, struct err *err)
{
    const char *base = "";
    *lora = (struct lm_lora){.alpha = 8}; /* PEFT's, as the rank below, where the file is silent */
    if (!json_is_object(document))
        return err_set(err, ERR_INPUT, "an adapter's configuration must be an object");
    int result = refuse_others(document, err);
    if (result == 0)
        result = lm_config_size(document, "r", 8, LIMIT_LM_RANK, &lora->rank, err);
    if (result == 0)
        result = json_find_double(document, "lora_alpha", &lora->alpha, err);
    if (result == 0 && !(lora->alpha > 0 && lora->alpha <= 1e9))
        result = err_set(err, ERR_INPUT, "'lora_alpha' is %g; it must be above 0", lora->alpha);
    if (result == 0)
        result = json_find_bool(document, "use_rslora", &lora->rank_stabilised, err);
    if (result == 0)
        result = json_find_string(document, "base_model_name_or_path", &base, err);
    if (result == 0)
        result = read_targets(lora, document, err);
    /* Nothing depends on it: a name that has no room is left out. */
    if (result == 0 && strlen(base) < sizeof lora->base_model)
        snprintf(lora->base_model, sizeof lora->base_model, "%s", base);
    return lm_weights_result(result, err);
}

static int parse_adapter(void *lora, const json_t *document, struct err *err)
{
    return lm_adapter_parse(lora, document, err);
}

int lm_adapter_read(struct lm_lora *lora, const char *directory, struct err *err)
{
    return lm_weights_read(directory, "adapter_config.json", parse_adapter, lora, err);
}

json_t *lm_adapter_json(const struct lm_lora *lora)
{
    json_t *object = json_object();
    json_t *names = json_array();
    for (size_t i = 0; i < LM_LORA_TARGET_COUNT; i++)
        if (lora->targets & 1U << i)
            json_array_append_new(names, json_text(targets[i]));
    json_put(object, "peft_type", json_text("LORA"));
    json_put(object, "task_type", json_text("CAUSAL_LM"));
    json_put(object, "base_model_name_or_path",
             json_text(lora->base_model[0] ? lora->base_model : NULL));
    json_put(object, "r", json_integer((json_int_t)lora->rank));
    json_put(object, "lora_alpha", json_known(lora->alpha));
    json_put(object, "lora_dropout", json_real(0));
    json_put(object, "use_rslora", json_boolean(lora->rank_stabilised));
    json_put(object, "use_dora", json_false());
    json_put(object, "bias", json_text("none"));
    json_put(object, "target_modules", names);
    json_put(object, "modules_to_save", json_null());
    json_put(object, "rank_pattern", json_object());
    json_put(object, "alpha_pattern", json_object());
    json_put(object, "fan_in_fan_out", json_false());
    json_put(object, "init_lora_weights", json_true());
    json_put(object, "inference_mode", json_true());
    return object;
}
