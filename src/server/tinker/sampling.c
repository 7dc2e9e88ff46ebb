/* asample: a prompt's samples, from the engine of its sampler to the future. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/tinker/body.h"
#include "server/tinker/engines.h"
#include "server/tinker/files.h"
#include "server/tinker/futures.h"
#include "server/tinker/names.h"
#include "server/tinker/pass_read.h"
#include "server/tinker/results.h"
#include "server/tinker/routes.h"
#include "server/tinker/samplers.h"
#include "server/tinker/state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* One request in an engine. Its callbacks run on the engine's thread. */
struct call {
    struct tinker_service *service;
    struct tinker_engine *engine;
    struct tinker_future *future;
    struct arena arena; /* of the request */
    struct lm_request request;
    struct lm_sample *samples;
    size_t left;
    float *prompt;
    struct lm_top *top;
    size_t prompt_top, sample_top;
    size_t last_n; /* of the prompt's tokens, which are scored; 0: all */
    bool wants_prompt, failed, cancelled;
};

static void call_free(struct call *call)
{
    for (size_t i = 0; i < call->request.samples && call->samples; i++)
        lm_sample_deinit(&call->samples[i]);
    if (call->engine)
        tinker_engine_return(call->engine);
    tinker_future_unref(call->future);
    mem_free(call->samples);
    mem_free(call->prompt);
    mem_free(call->top);
    arena_deinit(&call->arena);
    mem_free(call);
}

/* --- the request --- */

/* A text, or a list of texts or of token ids. */
static int read_stops(struct call *call, const json_t *stop, struct err *err)
{
    struct lm_sampling *sampling = &call->request.sampling;
    const size_t count = json_is_array(stop) ? json_array_size(stop) : json_is_string(stop);
    const char **texts = arena_alloc(&call->arena, (count + 1) * sizeof *texts);
    int32_t *ids = arena_alloc(&call->arena, (count + 1) * sizeof *ids);
    if (count > LM_STOPS_MAX)
        return err_set(err, ERR_LIMIT, "'stop' has %zu items; %d are the most", count,
                       LM_STOPS_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(stop) ? json_array_get(stop, i) : stop;
        const json_int_t id = json_is_integer(item) ? json_integer_value(item) : -1;
        if (json_is_string(item))
            texts[sampling->stop_count++] = arena_strdup(&call->arena, json_string_value(item));
        else if (id >= 0 && id < LIMIT_LM_VOCAB)
            ids[sampling->stop_token_count++] = (int32_t)id;
        else
            return err_set(err, ERR_INPUT, "'stop' must be a text or a list of texts or of tokens");
    }
    sampling->stops = texts;
    sampling->stop_tokens = ids;
    return 0;
}

static int read_params(struct call *call, const json_t *params, struct err *err)
{
    struct lm_sampling *sampling = &call->request.sampling;
    int64_t max_tokens = 0, top_k = -1;
    *sampling = lm_sampling_defaults;
    sampling->temperature = 1;
    const json_t *seed = json_object_get(params, "seed");
    sampling->seed = json_is_integer(seed) ? (uint64_t)json_integer_value(seed)
                                           : clock_secret() & INT32_MAX;
    int result = json_find_int(params, "max_tokens", &max_tokens, err);
    if (result == 0)
        result = json_find_int(params, "top_k", &top_k, err);
    if (result == 0)
        result = json_find_double(params, "temperature", &sampling->temperature, err);
    if (result == 0)
        result = json_find_double(params, "top_p", &sampling->top_p, err);
    if (result == 0 &&
        (max_tokens < 0 || max_tokens > LIMIT_LM_POSITIONS || top_k < -1 || top_k > LIMIT_LM_VOCAB))
        result = err_set(err, ERR_INPUT, "max_tokens or top_k is out of bounds");
    sampling->max_tokens = result == 0 ? (size_t)max_tokens : 0;
    sampling->top_k = result == 0 && top_k > 0 ? (size_t)top_k : 0;
    return result == 0 ? read_stops(call, json_object_get(params, "stop"), err)
                       : err_prefix(err, "sampling_params");
}

static int read_count(const json_t *body, const char *key, int64_t standard, int64_t most,
                      size_t *out, struct err *err)
{
    int64_t value = standard;
    int result = json_find_int(body, key, &value, err);
    if (result == 0 && (value < 0 || value > most))
        result = err_set(err, ERR_INPUT, "'%s' is %" PRId64 ", not 0 to %" PRId64, key, value,
                         most);
    *out = result == 0 ? (size_t)value : 0;
    return result;
}

/* What this engine does not compute must not be missed silently. */
static int check_absent(const json_t *body, struct err *err)
{
    static const char *const keys[] = {"target_prompt_logprobs", "prompt_alt_tokens_k"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *value = json_object_get(body, keys[i]);
        if (json_is_object(value) || json_integer_value(value) > 0)
            return err_set(err, ERR_UNSUPPORTED, "'%s' is not supported here", keys[i]);
    }
    return 0;
}

static int read_lists(struct call *call, const json_t *body, struct err *err)
{
    struct lm_sampling *sampling = &call->request.sampling;
    int result = read_count(body, "topk_prompt_logprobs", 0, LM_TOP_LOGPROBS_MAX, &call->prompt_top,
                            err);
    if (result == 0)
        result = read_count(body, "topk_sample_logprobs", 0, LM_TOP_LOGPROBS_MAX, &call->sample_top,
                            err);
    if (result == 0)
        result = read_count(body, "prompt_logprobs_last_n", 0, LIMIT_LM_POSITIONS, &call->last_n,
                            err);
    call->wants_prompt = json_is_true(json_object_get(body, "prompt_logprobs"));
    sampling->top_logprobs = call->prompt_top > call->sample_top ? call->prompt_top
                                                                 : call->sample_top;
    sampling->prompt_logprobs = call->wants_prompt || call->prompt_top > 0;
    return result;
}

static int read_call(struct call *call, const json_t *body, struct err *err)
{
    int32_t *prompt = NULL;
    int result = check_absent(body, err);
    if (result == 0)
        result = read_count(body, "num_samples", 1, LIMIT_LM_CHOICES, &call->request.samples, err);
    if (result == 0)
        result = read_params(call, json_object_get(body, "sampling_params"), err);
    if (result == 0)
        result = read_lists(call, body, err);
    if (result == 0)
        result = tinker_tokens_read_json(json_object_get(body, "prompt"), &call->arena, &prompt,
                                         &call->request.prompt_count, err);
    call->request.prompt = prompt;
    call->request.tokenizer = call->service->options.tokenizer;
    return result;
}

/* --- the engine's thread --- */

static void write_result(struct call *call, struct buf *out)
{
    /* The first token's, and those before the last n, are unknown. */
    for (size_t i = 0; call->last_n > 0 && i + call->last_n < call->request.prompt_count; i++)
        call->prompt[i] = NAN;
    const struct tinker_samples samples = {
        .samples = call->samples,
        .count = call->request.samples,
        .prompt_count = call->request.prompt_count,
        .prompt = call->wants_prompt ? call->prompt : NULL,
        .top = call->top,
        .width = call->request.sampling.top_logprobs,
        .prompt_top = call->prompt_top,
        .sample_top = call->sample_top,
    };
    tinker_samples_write(out, &samples);
}

static void call_end(struct call *call)
{
    struct tinker_service *service = call->service;
    struct err err = {0};
    struct buf result;
    buf_init(&result, SIZE_MAX);
    int code = 0;
    if (call->failed)
        code = err_set(&err, ERR_INPUT,
                       "the model gives no finite numbers for this prompt: its weights hold NaN "
                       "or infinity, or its sums overflow");
    else if (call->cancelled)
        code = err_set(&err, ERR_CANCELLED, "the sample was cancelled");
    else
        write_result(call, &result);
    pthread_mutex_lock(&service->lock);
    service->sampling -= call->request.samples;
    tinker_future_sampled(call->future);
    pthread_mutex_unlock(&service->lock);
    tinker_engine_return(call->engine); /* a client with the answer asks for other weights */
    call->engine = NULL;
    tinker_future_end(service, call->future, TINKER_RESULT_SAMPLE, code, &result, &err);
    buf_deinit(&result);
    call_free(call);
}

static void on_event(void *context, size_t index, const struct lm_sample *sample)
{
    struct call *call = context;
    struct lm_sample *out = &call->samples[index];
    const size_t top = call->request.sampling.top_logprobs;
    if (sample->finish == LM_RUNNING)
        return;
    *out = *sample;
    out->tokens = mem_copy(sample->tokens, sample->count * sizeof *sample->tokens);
    out->logprobs = mem_copy(sample->logprobs, sample->count * sizeof *sample->logprobs);
    out->top = top > 0 ? mem_copy(sample->top, sample->count * top * sizeof *sample->top) : NULL;
    call->failed |= sample->finish == LM_FAILED;
    call->cancelled |= sample->finish == LM_CANCELLED;
    if (--call->left == 0)
        call_end(call);
}

static void on_scored(void *context, const float *logprobs, const struct lm_top *top)
{
    struct call *call = context;
    const size_t count = call->request.prompt_count, width = call->request.sampling.top_logprobs;
    call->prompt = mem_copy(logprobs, count * sizeof *logprobs);
    call->top = top && width > 0 ? mem_copy(top, count * width * sizeof *top) : NULL;
}

/* --- the handler --- */

/* With the lock: a new future, or the earlier one of the same request (*known), or a refusal. */
static struct tinker_future *begin(struct tinker_service *service, const char *key, size_t samples,
                                   bool *known, struct http_response *response)
{
    struct tinker_future *future = tinker_future_find(service, key);
    *known = future != NULL;
    if (future)
        return future;
    if (service->sampling + samples > service->options.samples_max) {
        http_refuse_for(response, 429, TINKER_RETRY_S, "busy",
                        "%zu samples are running or waiting, as many as --queue allows",
                        service->sampling);
        return NULL;
    }
    service->sampling += samples;
    return tinker_future_new(service, key, NULL, samples);
}

static void begin_failed(struct call *call, const struct err *err, struct http_response *response)
{
    struct tinker_service *service = call->service;
    pthread_mutex_lock(&service->lock);
    service->sampling -= call->request.samples;
    tinker_future_forget(service, call->future);
    pthread_mutex_unlock(&service->lock);
    if (err->code == ERR_LIMIT)
        http_refuse_for(response, 429, TINKER_RETRY_S, "busy", "%s", err->text);
    else
        http_refuse_err(response, err);
    call_free(call);
}

/* The call is the engine's after this. */
static void submit(struct call *call, const char *directory, struct http_response *response)
{
    struct tinker_service *service = call->service;
    uint64_t id = 0;
    struct err err;
    if (tinker_engine_take(service->engines, directory, &call->engine, &err) < 0) {
        begin_failed(call, &err, response);
        return;
    }
    call->samples = mem_alloc((call->request.samples + 1) * sizeof *call->samples);
    call->left = call->request.samples;
    call->request.on_event = on_event;
    call->request.scored = on_scored;
    call->request.context = call;
    struct lm_engine *engine = tinker_engine_of(call->engine);
    struct tinker_future *future = tinker_future_ref(call->future);
    if (lm_engine_submit(engine, &call->request, &id, &err) < 0) {
        err.code = ERR_INPUT;
        begin_failed(call, &err, response);
    } else {
        tinker_future_sampling(service, future, engine, id);
        tinker_future_show(future, response);
    }
    tinker_future_unref(future);
}

/* A sampling session, or weights without one. */
static int find_weights(struct tinker_service *service, const json_t *body, char **directory,
                        struct err *err)
{
    const char *session = json_text_at(body, "sampling_session_id");
    const char *path = json_text_at(body, "model_path");
    struct tinker_saved saved;
    char *unused = NULL;
    int result = 0;
    *directory = NULL;
    if (session[0]) {
        result = tinker_sampler_find(service, session, &unused, directory, err);
    } else if (path[0]) {
        result = tinker_saved_parse(&saved, path, err);
        if (result == 0)
            *directory = tinker_saved_directory(service, &saved);
    } else if (strcmp(json_text_at(body, "base_model"), service->model) != 0) {
        result = err_set(err, ERR_INPUT,
                         "give a sampling_session_id, a model_path, or the base_model '%.200s'",
                         service->model);
    }
    mem_free(unused);
    return result;
}

static char *key_of(const json_t *body)
{
    const char *session = json_text_at(body, "sampling_session_id");
    const int64_t number = tinker_number(body, "seq_id");
    return session[0] && number >= 0 ? mem_printf("%s#%" PRId64, session, number) : NULL;
}

static void answer_asample(void *context, struct http_request *request,
                           struct http_response *response)
{
    struct tinker_service *service = context;
    const json_t *body = tinker_body(request, response);
    char *directory = NULL;
    bool known = false;
    struct err err;
    if (!body)
        return;
    struct call *call = mem_alloc(sizeof *call);
    call->service = service;
    int result = read_call(call, body, &err);
    if (result == 0 && call->request.samples == 0)
        result = err_set(&err, ERR_INPUT, "'num_samples' is 0");
    if (result == 0)
        result = find_weights(service, body, &directory, &err);
    if (result < 0) {
        err.code = err.code == ERR_LIMIT ? ERR_INPUT : err.code;
        http_refuse_err(response, &err);
        call_free(call);
        return;
    }
    char *key = key_of(body);
    pthread_mutex_lock(&service->lock);
    call->future = begin(service, key, call->request.samples, &known, response);
    pthread_mutex_unlock(&service->lock);
    if (call->future && !known) {
        submit(call, directory, response);
    } else {
        if (call->future)
            tinker_future_show(call->future, response);
        call_free(call);
    }
    mem_free(key);
    mem_free(directory);
}

const struct http_route tinker_sampling_routes[] = {
    TINKER_POST("/asample", asample, HTTP_BODY_STANDARD),
    {0},
};
