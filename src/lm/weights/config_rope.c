#include "base/array.h"
#include "base/limits.h"
#include "lm/weights/config_parts.h"

#include <string.h>

static const char *const rope_names[] = {
    [LM_ROPE_DEFAULT] = "default",
    [LM_ROPE_LINEAR] = "linear",
    [LM_ROPE_LLAMA3] = "llama3",
    [LM_ROPE_YARN] = "yarn",
};
#define ROPES COUNT(rope_names)

const char *lm_rope_name(enum lm_rope_kind kind)
{
    return rope_names[kind];
}

/* A position's angle may not turn only a part of a head, nor change from layer to layer. */
static int check_rope(const json_t *document, const json_t *rope, struct err *err)
{
    const json_t *const places[] = {document, rope};
    for (size_t i = 0; i < 2; i++) {
        double share = 1;
        int result = json_find_double(places[i], "partial_rotary_factor", &share, err);
        if (result < 0)
            return result;
        if (share != 1)
            return err_set(err, ERR_INPUT,
                           "'partial_rotary_factor' is %g; the engine turns whole heads", share);
    }
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)rope, key, value)
    {
        if (json_is_object(value))
            return err_set(err, ERR_INPUT,
                           "the rope has parameters for '%.64s' alone; the engine knows one rope "
                           "for all layers",
                           key);
    }
    return 0;
}

/* "rope_type", or "type" in older files. */
static int read_rope_kind(struct lm_rope_config *rope, const json_t *object, struct err *err)
{
    const char *name = rope_names[LM_ROPE_DEFAULT];
    int result = json_find_string(object, "type", &name, err);
    if (result == 0)
        result = json_find_string(object, "rope_type", &name, err);
    for (size_t i = 0; i < ROPES && result == 0; i++)
        if (strcmp(rope_names[i], name) == 0) {
            rope->kind = (enum lm_rope_kind)i;
            return 0;
        }
    return result < 0 ? result
                      : err_set(err, ERR_INPUT,
                                "the rope's type is '%.64s'; the engine knows default, linear, "
                                "llama3 and yarn",
                                name);
}

static int read_rope_numbers(struct lm_rope_config *rope, const json_t *object, struct err *err)
{
    struct {
        const char *key;
        double *out;
        enum lm_rope_kind kind;
        bool needed;
    } numbers[] = {
        {"factor", &rope->factor, LM_ROPE_LINEAR, true},
        {"factor", &rope->factor, LM_ROPE_LLAMA3, true},
        {"low_freq_factor", &rope->low_freq_factor, LM_ROPE_LLAMA3, true},
        {"high_freq_factor", &rope->high_freq_factor, LM_ROPE_LLAMA3, true},
        {"factor", &rope->factor, LM_ROPE_YARN, false},
        {"beta_fast", &rope->beta_fast, LM_ROPE_YARN, false},
        {"beta_slow", &rope->beta_slow, LM_ROPE_YARN, false},
        {"attention_factor", &rope->attention_factor, LM_ROPE_YARN, false},
        {"mscale", &rope->mscale, LM_ROPE_YARN, false},
        {"mscale_all_dim", &rope->mscale_all_dim, LM_ROPE_YARN, false},
    };
    int result = 0;
    for (size_t i = 0; i < COUNT(numbers) && result == 0; i++)
        if (numbers[i].kind == rope->kind)
            result = numbers[i].needed
                         ? json_get_double(object, numbers[i].key, numbers[i].out, err)
                         : json_find_double(object, numbers[i].key, numbers[i].out, err);
    if (result == 0 && rope->kind == LM_ROPE_YARN)
        result = json_find_bool(object, "truncate", &rope->truncate, err);
    return result;
}

/* Transformers 5 keeps all in rope_parameters, 4 in rope_theta and rope_scaling; the order in which
 * places count is Transformers' own. */
int lm_rope_read(struct lm_config *config, const json_t *document, struct err *err)
{
    struct lm_rope_config *rope = &config->rope;
    json_t *scaling = NULL, *parameters = NULL;
    int result = json_find_object(document, "rope_scaling", &scaling, err);
    if (result == 0)
        result = json_find_object(document, "rope_parameters", &parameters, err);
    const json_t *object = json_object_size(scaling) > 0 ? scaling : parameters;
    if (result == 0)
        result = check_rope(document, object, err);
    if (result == 0)
        result = read_rope_kind(rope, object, err);
    rope->theta = 10000;
    rope->truncate = true;
    if (result == 0)
        result = json_find_double(document, "rope_theta", &rope->theta, err);
    if (result == 0)
        result = json_find_double(object, "rope_theta", &rope->theta, err);
    if (result == 0)
        result = read_rope_numbers(rope, object, err);
    if (result < 0 || (rope->kind != LM_ROPE_LLAMA3 && rope->kind != LM_ROPE_YARN))
        return result;
    static const char original[] = "original_max_position_embeddings";
    const json_t *place = json_object_get(document, original) ? document : object;
    result = lm_config_size(place, original, (int64_t)config->positions, LIMIT_LM_POSITIONS,
                            &rope->original_positions, err);
    if (rope->kind != LM_ROPE_YARN || result < 0)
        return result;
    if (rope->factor == 0)
        rope->factor = (double)config->positions / (double)rope->original_positions;
    rope->beta_fast = rope->beta_fast == 0 ? 32 : rope->beta_fast;
    rope->beta_slow = rope->beta_slow == 0 ? 1 : rope->beta_slow;
    return 0;
}

/* Written so that NaN fails. */
int lm_rope_check(const struct lm_rope_config *rope, struct err *err)
{
    if (!(rope->theta > 1 && rope->theta <= 1e18))
        return err_set(err, ERR_INPUT, "'rope_theta' is %g; it must be above 1", rope->theta);
    if (rope->kind == LM_ROPE_DEFAULT)
        return 0;
    if (!(rope->factor >= 1 && rope->factor <= 1e6))
        return err_set(err, ERR_INPUT, "the rope's 'factor' is %g; it must be at least 1",
                       rope->factor);
    if (rope->kind == LM_ROPE_LINEAR)
        return 0;
    if (rope->original_positions < 1 || rope->original_positions > (size_t)LIMIT_LM_POSITIONS)
        return err_set(err, ERR_LIMIT,
                       "'original_max_position_embeddings' is %zu; 1 to %lld is possible",
                       rope->original_positions, (long long)LIMIT_LM_POSITIONS);
    if (rope->kind == LM_ROPE_LLAMA3) {
        if (!(rope->low_freq_factor > 0 && rope->low_freq_factor < rope->high_freq_factor &&
              rope->high_freq_factor <= 1e6))
            return err_set(err, ERR_INPUT,
                           "'low_freq_factor' %g must be above 0 and below 'high_freq_factor' %g",
                           rope->low_freq_factor, rope->high_freq_factor);
        return 0;
    }
    if (!(rope->beta_slow > 0 && rope->beta_slow <= rope->beta_fast && rope->beta_fast <= 1e6))
        return err_set(err, ERR_INPUT,
                       "'beta_slow' %g must be above 0 and no more than 'beta_fast' %g",
                       rope->beta_slow, rope->beta_fast);
    const double scales[] = {rope->attention_factor, rope->mscale, rope->mscale_all_dim};
    for (size_t i = 0; i < 3; i++)
        if (!(scales[i] >= 0 && scales[i] <= 1e6))
            return err_set(err, ERR_INPUT,
                           "'attention_factor', 'mscale' and 'mscale_all_dim' of the rope must be "
                           "0 to 1e6, not %g",
                           scales[i]);
    return 0;
}

/* rope_theta and rope_scaling: Transformers 4 and 5, and what was built on them, read that. */
json_t *lm_rope_json(const struct lm_rope_config *rope)
{
    if (rope->kind == LM_ROPE_DEFAULT)
        return json_null();
    json_t *object = json_object();
    json_put(object, "rope_type", json_text(rope_names[rope->kind]));
    json_put(object, "factor", json_number(rope->factor));
    if (rope->kind == LM_ROPE_LLAMA3) {
        json_put(object, "low_freq_factor", json_number(rope->low_freq_factor));
        json_put(object, "high_freq_factor", json_number(rope->high_freq_factor));
    }
    if (rope->kind == LM_ROPE_YARN) {
        json_put(object, "beta_fast", json_number(rope->beta_fast));
        json_put(object, "beta_slow", json_number(rope->beta_slow));
        if (rope->attention_factor > 0)
            json_put(object, "attention_factor", json_number(rope->attention_factor));
        if (rope->mscale > 0)
            json_put(object, "mscale", json_number(rope->mscale));
        if (rope->mscale_all_dim > 0)
            json_put(object, "mscale_all_dim", json_number(rope->mscale_all_dim));
        json_put(object, "truncate", json_boolean(rope->truncate));
    }
    if (rope->kind == LM_ROPE_LLAMA3 || rope->kind == LM_ROPE_YARN)
        json_put(object, "original_max_position_embeddings",
                 json_integer((json_int_t)rope->original_positions));
    return object;
}
