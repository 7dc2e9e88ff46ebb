#include "server/lm/request.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "lm/tokenizer/chat_json.h"

#include <stdio.h>
#include <string.h>

#define LOWEST 1e-9 /* above 0 */

enum {
    CHAT = LM_API_CHAT,
    COMPLETION = LM_API_COMPLETION,
    EMBEDDINGS = LM_API_EMBEDDINGS,
    BOTH = CHAT | COMPLETION,
    ALL = BOTH | EMBEDDINGS,
};

/* Read beside the result, until all parameters are known. */
struct reading {
    struct lm_api_request *out;
    struct arena *arena;
    struct err *err;
    bool stream_options;
    size_t max_completion_tokens, best_of, top_logprobs;
    bool max_tokens_given;
};

struct row {
    const char *name;
    unsigned where;
    int (*read)(struct reading *reading, const struct row *row, const json_t *value);
    size_t offset; /* in struct lm_api_request, or in struct reading */
    double low, high;
    /* for a parameter without support: the only accepted values, as a JSON list */
    const char *neutral;
};

static void *parameter_target(struct reading *reading, const struct row *row)
{
    return (char *)reading->out + row->offset;
}

static int read_number(struct reading *reading, const struct row *row, const json_t *value)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= row->low && number <= row->high))
        return err_set(reading->err, ERR_INPUT, "must be a number from %g to %g", row->low,
                       row->high);
    *(double *)parameter_target(reading, row) = number;
    return 0;
}

static int read_integer(struct reading *reading, const struct row *row, const json_t *value,
                        size_t *out)
{
    double number = (double)json_integer_value(value);
    if (!json_is_integer(value) || number < row->low || number > row->high)
        return err_set(reading->err, ERR_INPUT, "must be a whole number from %.0f to %.0f",
                       row->low, row->high);
    *out = (size_t)json_integer_value(value);
    return 0;
}

static int read_count(struct reading *reading, const struct row *row, const json_t *value)
{
    return read_integer(reading, row, value, parameter_target(reading, row));
}

static int read_own_count(struct reading *reading, const struct row *row, const json_t *value)
{
    return read_integer(reading, row, value, (size_t *)(void *)((char *)reading + row->offset));
}

static int read_max_tokens(struct reading *reading, const struct row *row, const json_t *value)
{
    reading->max_tokens_given = true;
    return read_count(reading, row, value);
}

/* -1, like 0, removes nothing. */
static int read_top_k(struct reading *reading, const struct row *row, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) == -1)
        return 0;
    return read_count(reading, row, value);
}

static int read_seed(struct reading *reading, const struct row *row, const json_t *value)
{
    if (!json_is_integer(value))
        return err_set(reading->err, ERR_INPUT, "must be a whole number");
    reading->out->sampling.seed = (uint64_t)json_integer_value(value);
    reading->out->seeded = true;
    return 0;
}

static int read_flag(struct reading *reading, const struct row *row, const json_t *value)
{
    if (!json_is_boolean(value))
        return err_set(reading->err, ERR_INPUT, "must be true or false");
    *(bool *)parameter_target(reading, row) = json_is_true(value);
    return 0;
}

/* Of a completion: how many beside the token itself. */
static int read_logprobs(struct reading *reading, const struct row *row, const json_t *value)
{
    reading->out->logprobs = true;
    return read_count(reading, row, value);
}

static int read_model(struct reading *reading, const struct row *row, const json_t *value)
{
    reading->out->model = json_string_value(value);
    return json_is_string(value) ? 0 : err_set(reading->err, ERR_INPUT, "must be a text");
}

static int read_stop(struct reading *reading, const struct row *row, const json_t *value)
{
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    const char **stops = arena_alloc(reading->arena, (count + 1) * sizeof *stops);
    if (count > LM_STOPS_MAX)
        return err_set(reading->err, ERR_INPUT, "has %zu texts; at most %d are allowed", count,
                       LM_STOPS_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        stops[i] = json_string_value(item);
        if (!stops[i] || !stops[i][0] || json_string_length(item) > LIMIT_LM_STOP_BYTES)
            return err_set(reading->err, ERR_INPUT,
                           "must be a text or a list of texts, of 1 to %d bytes each",
                           LIMIT_LM_STOP_BYTES);
    }
    reading->out->sampling.stops = stops;
    reading->out->sampling.stop_count = count;
    return 0;
}

/* A list of ids; the caller checks that the model has them. */
static int read_ids(struct reading *reading, const json_t *list, const int32_t **ids, size_t *count)
{
    size_t i;
    json_t *item;
    int32_t *made = arena_alloc(reading->arena, (json_array_size(list) + 1) * sizeof *made);
    json_array_foreach(list, i, item)
    {
        json_int_t id = json_integer_value(item);
        if (!json_is_integer(item) || id < 0 || id > INT32_MAX)
            return err_set(reading->err, ERR_INPUT, "item %zu is not a token id", i);
        made[i] = (int32_t)id;
    }
    *ids = made;
    *count = json_array_size(list);
    return 0;
}

static int read_stop_ids(struct reading *reading, const struct row *row, const json_t *value)
{
    struct lm_sampling *sampling = &reading->out->sampling;
    if (!json_is_array(value) || json_array_size(value) > LM_STOPS_MAX)
        return err_set(reading->err, ERR_INPUT, "must be a list of at most %d token ids",
                       LM_STOPS_MAX);
    return read_ids(reading, value, &sampling->stop_tokens, &sampling->stop_token_count);
}

static int read_messages(struct reading *reading, const struct row *row, const json_t *value)
{
    reading->out->prompt_count = 1;
    return chat_json_read(value, reading->arena, &reading->out->messages,
                          &reading->out->message_count, reading->err);
}

static int read_one_prompt(struct reading *reading, const json_t *value, struct lm_api_prompt *out)
{
    out->text = json_string_value(value);
    if (out->text)
        return 0;
    if (!json_is_array(value) || !json_is_integer(json_array_get(value, 0)))
        return err_set(reading->err, ERR_INPUT,
                       "must be a text, list of texts, list of token ids or list of such lists");
    return read_ids(reading, value, &out->ids, &out->count);
}

static int read_prompt(struct reading *reading, const struct row *row, const json_t *value)
{
    struct lm_api_request *out = reading->out;
    const json_t *first = json_array_get(value, 0);
    const bool many = json_is_string(first) || json_is_array(first);
    out->prompt_count = many ? json_array_size(value) : 1;
    if (out->prompt_count > LIMIT_LM_CHOICES)
        return err_set(reading->err, ERR_INPUT, "has %zu prompts; at most %d are allowed",
                       out->prompt_count, LIMIT_LM_CHOICES);
    out->prompts = arena_alloc(reading->arena, out->prompt_count * sizeof *out->prompts);
    int result = 0;
    for (size_t i = 0; i < out->prompt_count && result == 0; i++)
        result = read_one_prompt(reading, many ? json_array_get(value, i) : value,
                                 &out->prompts[i]);
    return result;
}

static int read_flag_of(struct reading *reading, const json_t *object, const char *key, bool *out)
{
    if (!json_is_object(object))
        return err_set(reading->err, ERR_INPUT, "must be an object");
    int result = json_check_keys(object, &key, 1, reading->err);
    return result < 0 ? result : json_find_bool(object, key, out, reading->err);
}

static int read_stream_options(struct reading *reading, const struct row *row, const json_t *value)
{
    reading->stream_options = true;
    return read_flag_of(reading, value, "include_usage", &reading->out->usage);
}

static int read_template_options(struct reading *reading, const struct row *row,
                                 const json_t *value)
{
    return read_flag_of(reading, value, "enable_thinking", &reading->out->thinking);
}

static int read_encoding(struct reading *reading, const struct row *row, const json_t *value)
{
    const char *name = json_is_string(value) ? json_string_value(value) : "";
    reading->out->base64 = strcmp(name, "base64") == 0;
    if (!reading->out->base64 && strcmp(name, "float") != 0)
        return err_set(reading->err, ERR_INPUT, "must be \"float\" or \"base64\"");
    return 0;
}

static int read_ignored(struct reading *reading, const struct row *row, const json_t *value)
{
    (void)reading, (void)row, (void)value;
    return 0;
}

static bool is_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static int read_neutral(struct reading *reading, const struct row *row, const json_t *value)
{
    json_t *list = json_loads(row->neutral, 0, NULL), *item;
    bool fine = false;
    size_t i;
    json_array_foreach(list, i, item)
    {
        fine |= is_same(item, value);
    }
    json_decref(list);
    return fine ? 0 : err_set(reading->err, ERR_UNSUPPORTED, "is not supported: leave it out");
}

#define OUT(member) offsetof(struct lm_api_request, member)
#define OWN(member) offsetof(struct reading, member)
#define IGNORED(n)                                                                                 \
    {                                                                                              \
        .name = (n), .where = ALL, .read = read_ignored                                            \
    }
#define NEUTRAL(n, w, list)                                                                        \
    {                                                                                              \
        .name = (n), .where = (w), .read = read_neutral, .neutral = (list)                         \
    }

static const struct row rows[] = {
    {"model", ALL, read_model, 0, 0, 0, NULL},
    {"messages", CHAT, read_messages, 0, 0, 0, NULL},
    {"prompt", COMPLETION, read_prompt, 0, 0, 0, NULL},
    {"input", EMBEDDINGS, read_prompt, 0, 0, 0, NULL},
    {"encoding_format", EMBEDDINGS, read_encoding, 0, 0, 0, NULL},
    {"dimensions", EMBEDDINGS, read_count, OUT(dimensions), 1, LIMIT_LM_WIDTH, NULL},
    {"max_tokens", CHAT, read_max_tokens, OUT(sampling.max_tokens), 1, LIMIT_LM_POSITIONS, NULL},
    {"max_tokens", COMPLETION, read_max_tokens, OUT(sampling.max_tokens), 0, LIMIT_LM_POSITIONS,
     NULL},
    {"max_completion_tokens", CHAT, read_own_count, OWN(max_completion_tokens), 1,
     LIMIT_LM_POSITIONS, NULL},
    {"temperature", BOTH, read_number, OUT(sampling.temperature), 0, 100, NULL},
    {"top_p", BOTH, read_number, OUT(sampling.top_p), LOWEST, 1, NULL},
    {"min_p", BOTH, read_number, OUT(sampling.min_p), 0, 1, NULL},
    {"top_k", BOTH, read_top_k, OUT(sampling.top_k), 0, LIMIT_LM_VOCAB, NULL},
    {"n", BOTH, read_count, OUT(samples), 1, LIMIT_LM_CHOICES, NULL},
    {"best_of", COMPLETION, read_own_count, OWN(best_of), 1, LIMIT_LM_CHOICES, NULL},
    {"stop", BOTH, read_stop, 0, 0, 0, NULL},
    {"stop_token_ids", BOTH, read_stop_ids, 0, 0, 0, NULL},
    {"ignore_eos", BOTH, read_flag, OUT(sampling.ignore_model_stops), 0, 0, NULL},
    {"seed", BOTH, read_seed, 0, 0, 0, NULL},
    {"stream", BOTH, read_flag, OUT(stream), 0, 0, NULL},
    {"stream_options", BOTH, read_stream_options, 0, 0, 0, NULL},
    {"logprobs", CHAT, read_flag, OUT(logprobs), 0, 0, NULL},
    {"logprobs", COMPLETION, read_logprobs, OUT(sampling.top_logprobs), 0, LM_TOP_LOGPROBS_MAX,
     NULL},
    {"top_logprobs", CHAT, read_count, OUT(sampling.top_logprobs), 0, LM_TOP_LOGPROBS_MAX, NULL},
    {"echo", COMPLETION, read_flag, OUT(echo), 0, 0, NULL},
    {"return_token_ids", BOTH, read_flag, OUT(token_ids), 0, 0, NULL},
    {"chat_template_kwargs", CHAT, read_template_options, 0, 0, 0, NULL},
    NEUTRAL("frequency_penalty", BOTH, "[0]"),
    NEUTRAL("presence_penalty", BOTH, "[0]"),
    NEUTRAL("repetition_penalty", BOTH, "[1]"),
    NEUTRAL("logit_bias", BOTH, "[{}]"),
    NEUTRAL("suffix", COMPLETION, "[\"\"]"),
    NEUTRAL("tools", CHAT, "[[]]"),
    NEUTRAL("tool_choice", CHAT, "[\"none\", \"auto\"]"),
    NEUTRAL("response_format", CHAT, "[{\"type\": \"text\"}]"),
    NEUTRAL("modalities", CHAT, "[[\"text\"]]"),
    IGNORED("user"),
    IGNORED("metadata"),
    IGNORED("store"),
    IGNORED("service_tier"),
    IGNORED("safety_identifier"),
    IGNORED("prompt_cache_key"),
    IGNORED("parallel_tool_calls"),
};

static const struct row *find_row(const char *name, unsigned where)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if ((rows[i].where & where) && strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static int refuse_unknown(const char *name, unsigned where, struct err *err)
{
    const char *names[COUNT(rows)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].where & where)
            names[count++] = rows[i].name;
    err_unknown(err, "parameter", name, names, count);
    return err->code = ERR_UNSUPPORTED;
}

static int blame_parameter(char param[LM_API_PARAM_MAX], const char *name, struct err *err)
{
    snprintf(param, LM_API_PARAM_MAX, "%s", name);
    return err_prefix(err, "'%.40s'", name);
}

/* Checks across parameters. */
static int check_combinations(struct reading *reading, unsigned where, char param[LM_API_PARAM_MAX])
{
    struct lm_api_request *out = reading->out;
    struct lm_sampling *sampling = &out->sampling;
    const struct {
        bool wrong;
        const char *name, *why;
    } rules[] = {
        {out->prompt_count == 0,
         where == CHAT         ? "messages"
         : where == COMPLETION ? "prompt"
                               : "input",
         "is missing"},
        {reading->stream_options && !out->stream, "stream_options", "requires 'stream'"},
        {where == CHAT && sampling->top_logprobs > 0 && !out->logprobs, "top_logprobs",
         "requires 'logprobs' to be true"},
        {reading->best_of > 0 && reading->best_of != out->samples, "best_of", "must equal 'n'"},
        {out->prompt_count * out->samples > LIMIT_LM_CHOICES, "n",
         "with so many prompts requests too many choices"},
        {reading->max_tokens_given && where == COMPLETION && sampling->max_tokens == 0 &&
             !out->echo,
         "max_tokens", "may be 0 only with 'echo'"},
    };
    for (size_t i = 0; i < COUNT(rules); i++)
        if (rules[i].wrong) {
            err_set(reading->err, ERR_INPUT, "%s", rules[i].why);
            return blame_parameter(param, rules[i].name, reading->err);
        }
    if (reading->max_completion_tokens > 0)
        sampling->max_tokens = reading->max_completion_tokens;
    if (where == COMPLETION && !reading->max_tokens_given)
        sampling->max_tokens = LM_API_COMPLETION_TOKENS;
    out->score_only = where == COMPLETION && sampling->max_tokens == 0;
    if (out->score_only)
        sampling->max_tokens = 1;
    sampling->prompt_logprobs = out->echo && out->logprobs;
    return 0;
}

int lm_api_request_read(const json_t *body, enum lm_api_kind kind, struct arena *arena,
                        struct lm_api_request *out, char param[LM_API_PARAM_MAX], struct err *err)
{
    const unsigned where = kind;
    struct reading reading = {.out = out, .arena = arena, .err = err};
    const char *name;
    json_t *value;
    *out = (struct lm_api_request){.thinking = true,
                                   .samples = 1,
                                   .sampling = lm_sampling_defaults};
    param[0] = '\0';
    if (!json_is_object(body))
        return err_set(err, ERR_INPUT, "the body must be a JSON object");
    out->sampling.temperature = 1;
    out->sampling.max_tokens = 0;
    json_object_foreach((json_t *)body, name, value)
    {
        const struct row *row = find_row(name, where);
        int result = 0;
        if (!row)
            result = refuse_unknown(name, where, err);
        else if (!json_is_null(value))
            result = row->read(&reading, row, value);
        if (result < 0)
            return blame_parameter(param, name, err);
    }
    return check_combinations(&reading, where, param);
}
