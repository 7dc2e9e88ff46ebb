#include "policy/tinker_wire.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/suggest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 200
/* A log-probability is at most 0, plus rounding errors of the server. */
#define LOGPROB_MOST 1e-2

void tinker_begin(struct buf *body)
{
    buf_init(body, LIMIT_TINKER_BODY_BYTES);
    buf_puts(body, "{");
}

void tinker_add_key(struct buf *body, const char *key)
{
    buf_printf(body, "%s\"%s\":", body->len > 1 ? "," : "", key);
}

void tinker_add_text(struct buf *body, const char *key, const char *text)
{
    tinker_add_key(body, key);
    tinker_put_text(body, text);
}

void tinker_add_number(struct buf *body, const char *key, uint64_t value)
{
    tinker_add_key(body, key);
    buf_printf(body, "%" PRIu64, value);
}

void tinker_end(struct buf *body)
{
    buf_puts(body, "}");
}

void tinker_put_text(struct buf *body, const char *text)
{
    json_t *value = json_text(text);
    char *quoted = json_dumps(value, JSON_ENCODE_ANY);
    buf_puts(body, quoted);
    free(quoted);
    json_decref(value);
}

static void put_ids(struct buf *body, const int32_t *ids, size_t count)
{
    buf_puts(body, "[");
    for (size_t i = 0; i < count; i++)
        buf_printf(body, i > 0 ? ",%" PRId32 : "%" PRId32, ids[i]);
    buf_puts(body, "]");
}

/* Nine digits represent a float exactly; NaN and infinity become 0. */
static void put_numbers(struct buf *body, const float *values, size_t count)
{
    buf_puts(body, "[");
    for (size_t i = 0; i < count; i++)
        buf_printf(body, i > 0 ? ",%.9g" : "%.9g", isfinite(values[i]) ? (double)values[i] : 0.0);
    buf_puts(body, "]");
}

static void put_prompt(struct buf *body, const int32_t *ids, size_t count)
{
    buf_puts(body, "{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":");
    put_ids(body, ids, count);
    buf_puts(body, "}]}");
}

static void put_array(struct buf *body, const char *name, const float *values, size_t count)
{
    buf_printf(body, ",\"%s\":{\"data\":", name);
    put_numbers(body, values, count);
    buf_printf(body, ",\"dtype\":\"float32\",\"shape\":[%zu]}", count);
}

static void put_weights(struct buf *body, const struct lm_datum *datum)
{
    float *ones;
    put_array(body, "weights", tinker_weights(datum, &ones), datum->count);
    mem_free(ones);
}

static void put_datum(struct buf *body, const struct loss *loss, const struct lm_datum *datum)
{
    buf_puts(body, "{\"model_input\":");
    put_prompt(body, datum->tokens, datum->count);
    buf_puts(body, ",\"loss_fn_inputs\":{\"target_tokens\":{\"data\":");
    put_ids(body, datum->targets, datum->count);
    buf_printf(body, ",\"dtype\":\"int64\",\"shape\":[%zu]}", datum->count);
    if (loss->ratio) {
        put_array(body, "logprobs", datum->sampled, datum->count);
        put_array(body, "advantages", datum->advantages, datum->count);
    } else {
        put_weights(body, datum);
    }
    buf_puts(body, "}}");
}

/* The options of each loss of the protocol. */
static const struct tinker_loss {
    const char *name;
    bool clips, beta;
    bool all_known; /* a row counts even if its advantage is 0 */
} losses[] = {
    {"cross_entropy", false, false, false},
    {"importance_sampling", false, false, false},
    {"ppo", true, false, false},
    {"cispo", true, false, false},
    {"dro", false, true, true},
};

static const struct tinker_loss *loss_of(const char *name)
{
    for (size_t i = 0; i < COUNT(losses); i++)
        if (strcmp(losses[i].name, name) == 0)
            return &losses[i];
    return NULL;
}

static int check_datum(const struct lm_datum *datum, const struct loss *loss,
                       const struct tinker_loss *known, struct err *err)
{
    if (datum->count == 0 || !datum->tokens || !datum->targets)
        return err_set(err, ERR_INPUT, "it is empty");
    if (datum->targets_per_row > 1)
        return err_set(err, ERR_INPUT, "several targets a row need the engine");
    if (loss->ratio && (!datum->sampled || !datum->advantages))
        return err_set(err, ERR_INPUT, "the loss %s needs %s", loss->name,
                       datum->sampled ? "advantages" : "the sampler's log-probabilities");
    for (size_t i = 0; i < datum->count; i++) {
        double advantage = loss->ratio ? (double)datum->advantages[i] : 0;
        double weight = !loss->ratio && datum->weights ? (double)datum->weights[i] : 0;
        bool needed = loss->ratio && (advantage != 0 || known->all_known);
        if (!isfinite(advantage) || !isfinite(weight) || (needed && !isfinite(datum->sampled[i])))
            return err_set(err, ERR_INPUT,
                           "row %zu: a number is not finite, or a log-probability that the loss %s "
                           "needs is unknown",
                           i, loss->name);
    }
    return 0;
}

int tinker_check_pass(const struct loss *loss, struct loss_config *config,
                      const struct lm_datum *datums, size_t count, struct err *err)
{
    const struct tinker_loss *known = loss_of(loss->name);
    int result = loss_config_check(loss, config, err);
    if (result == 0 && !known)
        result = err_set(err, ERR_INPUT, "Tinker has no loss %s; the engine has", loss->name);
    if (result == 0 && (config->dual_clip > 0 || config->entropy != 0))
        result = err_set(err, ERR_INPUT, "%s needs the engine: Tinker's losses have none",
                         config->dual_clip > 0 ? "a dual clip" : "an entropy bonus");
    for (size_t i = 0; i < count && result == 0; i++) {
        result = check_datum(&datums[i], loss, known, err);
        if (result < 0)
            err_prefix(err, "datum %zu", i);
    }
    return result;
}

void tinker_put_pass(struct buf *body, const struct tinker_wire_pass *pass)
{
    struct tinker_option options[TINKER_OPTIONS];
    const size_t count = tinker_options(pass->loss, pass->config, options);
    buf_puts(body, "{\"data\":[");
    for (size_t i = 0; i < pass->count; i++) {
        buf_puts(body, i > 0 ? "," : "");
        put_datum(body, pass->loss, &pass->datums[i]);
    }
    buf_printf(body, "],\"loss_fn\":\"%s\"", pass->loss->name);
    for (size_t i = 0; i < count; i++)
        buf_printf(body, "%s\"%s\":%.17g", i > 0 ? "," : ",\"loss_fn_config\":{", options[i].name,
                   options[i].value);
    buf_puts(body, count > 0 ? "}}" : "}");
}

size_t tinker_options(const struct loss *loss, const struct loss_config *config,
                      struct tinker_option options[TINKER_OPTIONS])
{
    const struct tinker_loss *known = loss_of(loss->name);
    size_t count = 0;
    if (known->clips) {
        options[count++] = (struct tinker_option){"clip_low_threshold", config->clip_low};
        options[count++] = (struct tinker_option){"clip_high_threshold", config->clip_high};
    }
    if (known->beta)
        options[count++] = (struct tinker_option){"beta", config->beta};
    return count;
}

int tinker_loss_read(const char *name, const struct loss **loss, struct err *err)
{
    const char *names[COUNT(losses)];
    for (size_t i = 0; i < COUNT(losses); i++)
        names[i] = losses[i].name;
    *loss = name && loss_of(name) ? loss_find(name) : NULL;
    return *loss ? 0 : err_unknown(err, "loss", name ? name : "", names, COUNT(names));
}

int tinker_option_read(const struct loss *loss, struct loss_config *config, const char *name,
                       double value, struct err *err)
{
    const struct tinker_loss *known = loss_of(loss->name);
    const struct {
        const char *name;
        bool known;
        double *to;
    } options[] = {{"clip_low_threshold", known->clips, &config->clip_low},
                   {"clip_high_threshold", known->clips, &config->clip_high},
                   {"beta", known->beta, &config->beta}};
    for (size_t i = 0; i < COUNT(options); i++)
        if (options[i].known && strcmp(options[i].name, name) == 0) {
            *options[i].to = value;
            return 0;
        }
    return err_set(err, ERR_INPUT, "the loss %s has no option '%.60s'; it has %s", loss->name, name,
                   known->clips  ? "clip_low_threshold and clip_high_threshold"
                   : known->beta ? "beta"
                                 : "none");
}

const float *tinker_weights(const struct lm_datum *datum, float **ones)
{
    *ones = NULL;
    if (datum->weights)
        return datum->weights;
    *ones = mem_alloc(datum->count * sizeof **ones);
    for (size_t i = 0; i < datum->count; i++)
        (*ones)[i] = 1;
    return *ones;
}

/* Input, targets (of 8 bytes) and two arrays. */
size_t tinker_datum_bytes(const struct lm_datum *datum)
{
    return datum->count * (4 + 8 + 2 * 4);
}

void tinker_add_sample(struct buf *body, const struct tinker_question *question)
{
    const struct train_backend_sampling *sampling = question->sampling;
    tinker_add_number(body, "num_samples", 1);
    tinker_add_key(body, "prompt");
    put_prompt(body, question->prompt->ids, question->prompt->count);
    tinker_add_key(body, "sampling_params");
    buf_printf(body, "{\"max_tokens\":%zu,\"seed\":%" PRIu64 ",\"stop\":", sampling->max_tokens,
               sampling->seed);
    put_ids(body, question->stops, question->stop_count);
    buf_printf(body, ",\"temperature\":%.9g,\"top_p\":%.9g,\"top_k\":%" PRId64 "}",
               sampling->temperature, sampling->top_p,
               sampling->top_k > 0 ? (int64_t)sampling->top_k : -1);
    tinker_add_text(body, "sampling_session_id", question->sampler);
    tinker_add_number(body, "seq_id", question->number);
    buf_puts(body, ",\"prompt_logprobs\":false,\"topk_prompt_logprobs\":0,\"type\":\"sample\"");
}

enum tinker_state tinker_read_future(const json_t *answer, const char **why, bool *mine)
{
    *why = NULL;
    *mine = false;
    if (strcmp(json_text_at(answer, "type"), "try_again") == 0) {
        const char *state = json_text_at(answer, "queue_state");
        const char *reason = json_text_at(answer, "queue_state_reason");
        if (state[0] && strcmp(state, "active") != 0)
            *why = reason[0] ? reason : state;
        return TINKER_AGAIN;
    }
    if (!json_is_string(json_object_get(answer, "error")))
        return TINKER_DONE;
    *why = json_text_at(answer, "error");
    *mine = strcmp(json_text_at(answer, "category"), "user") == 0;
    return TINKER_FAILED;
}

int tinker_read_text(const json_t *answer, const char *request, const char *key, char **text,
                     struct err *err)
{
    const char *found = json_text_at(answer, key);
    if (!found[0])
        return err_set(err, ERR_PROTOCOL, "the server's answer to %s has no '%s'", request, key);
    *text = mem_strdup(found);
    return 0;
}

/* Numbers, each a log-probability. */
static int read_floats(const json_t *array, const char *name, float *out, size_t count,
                       struct err *err)
{
    if (json_array_size(array) != count)
        return err_set(err, ERR_PROTOCOL, "%s has %zu numbers, not %zu", name,
                       json_array_size(array), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        out[i] = json_is_number(value) ? (float)json_number_value(value) : NAN;
        if (!isfinite(out[i]) || (double)out[i] > LOGPROB_MOST)
            return err_set(err, ERR_PROTOCOL, "%s: number %zu is not a log-probability", name, i);
    }
    return 0;
}

int tinker_read_logprobs(const json_t *result, size_t index, float *logprobs, size_t count,
                         struct err *err)
{
    const json_t *outputs = json_object_get(result, "loss_fn_outputs");
    const json_t *output = json_array_get(outputs, index);
    const json_t *tensor = json_object_get(output, "logprobs");
    if (!json_is_object(tensor))
        return err_set(err, ERR_PROTOCOL, "the server's answer has no 'logprobs' of datum %zu",
                       index);
    return read_floats(json_object_get(tensor, "data"), "'logprobs'", logprobs, count, err);
}

static int read_ids(const json_t *array, size_t max_tokens, struct train_backend_answer *answer,
                    struct err *err)
{
    size_t count = json_array_size(array);
    if (!json_is_array(array) || count == 0 || count > max_tokens)
        return err_set(err, ERR_PROTOCOL,
                       "the server's answer has %zu tokens; 1 to %zu were asked for", count,
                       max_tokens);
    answer->tokens = mem_alloc(count * sizeof *answer->tokens);
    answer->count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id >= LIMIT_LM_VOCAB)
            return err_set(err, ERR_PROTOCOL, "the server's answer has an invalid token at %zu", i);
        answer->tokens[i] = (int32_t)id;
    }
    return 0;
}

int tinker_read_sample(const json_t *result, size_t max_tokens, struct train_backend_answer *answer,
                       struct err *err)
{
    const json_t *sequences = json_object_get(result, "sequences");
    const json_t *sequence = json_array_get(sequences, 0);
    if (!json_is_object(sequence))
        return err_set(err, ERR_PROTOCOL, "the server's answer has no 'sequences'");
    int code = read_ids(json_object_get(sequence, "tokens"), max_tokens, answer, err);
    if (code < 0)
        return code;
    answer->logprobs = mem_alloc(answer->count * sizeof *answer->logprobs);
    answer->stopped = strcmp(json_text_at(sequence, "stop_reason"), "stop") == 0;
    return read_floats(json_object_get(sequence, "logprobs"), "'logprobs' of a sample",
                       answer->logprobs, answer->count, err);
}

double tinker_read_norm(const json_t *result)
{
    static const char *const names[] = {"grad_norm", "skyrl.ai/grad_norm", "grad_norm:mean",
                                        "unclipped_grad_l2:mean"};
    const json_t *metrics = json_object_get(result, "metrics");
    for (size_t i = 0; i < COUNT(names); i++) {
        const json_t *value = json_object_get(metrics, names[i]);
        if (json_is_number(value))
            return json_number_value(value);
    }
    return NAN;
}

static bool is_plain(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:", text[i]))
            return false;
    return count > 0 && count <= NAME_MAX_BYTES && strspn(text, ".") < count;
}

int tinker_path_parse(struct tinker_path *path, const char *text, struct err *err)
{
    static const char prefix[] = "tinker://", kind[] = "/weights/";
    *path = (struct tinker_path){0};
    const char *run = text + sizeof prefix - 1;
    if (strncmp(text, prefix, sizeof prefix - 1) == 0) {
        size_t count = strcspn(run, "/");
        const char *name = run + count + sizeof kind - 1;
        if (strncmp(run + count, kind, sizeof kind - 1) == 0 && is_plain(run, count) &&
            is_plain(name, strlen(name))) {
            path->run = mem_printf("%.*s", (int)count, run);
            path->name = mem_strdup(name);
            return 0;
        }
    }
    return err_set(err, ERR_INPUT, "'%.200s' is not a checkpoint: give tinker://RUN/weights/NAME",
                   text);
}

void tinker_path_deinit(struct tinker_path *path)
{
    mem_free(path->run);
    mem_free(path->name);
    *path = (struct tinker_path){0};
}

char *tinker_name(const char *name, unsigned resend)
{
    char *out = resend > 0 ? mem_printf("%.*s-%u", NAME_MAX_BYTES, name, resend)
                           : mem_printf("%.*s", NAME_MAX_BYTES, name);
    for (char *at = out; *at; at++)
        if (!is_plain(at, 1) || *at == '.' || *at == ':')
            *at = '-';
    return out;
}
