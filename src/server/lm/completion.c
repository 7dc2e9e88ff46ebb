/* One request to a model.
 *
 *   handler    reads, encodes, submits a part per prompt, then waits or opens a stream
 *   engine     its thread delivers tokens; they are stored, and sent to a stream at once
 *   end        when all choices have ended and the handler has returned: the answer, or last events
 *   client     disconnects: the parts are cancelled, and end as all others do
 *
 * References: the handler's, each part's until its last choice has ended, the HTTP layer's until
 * `release`. */
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/lm/choice.h"
#include "server/lm/internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define LATE_MS ((int64_t)24 * 3600000)

struct part {
    struct call *call;
    struct lm_api_scored scored;
    struct lm_api_choice *choices; /* the request's samples */
    size_t left;                   /* choices that have not ended; with the call's lock */
    uint64_t id;                   /* the engine's */
    bool submitted;
};

struct call {
    atomic_int refs;
    struct lm_api *api;
    bool chat;
    char id[64];
    int64_t created;
    struct arena arena;
    struct lm_api_request request; /* its texts are in the body: for the handler alone */
    struct part *parts;
    struct lm_api_choice *choices; /* of all parts */
    size_t choice_count, reserved;
    struct pool_task ending;

    pthread_mutex_t lock; /* all below, the choices, and the scores */
    size_t left;          /* choices that have not ended */
    bool attached;        /* the handler has returned */
    bool over;
    struct http_waiter *waiter;
    struct http_stream *stream;
    bool failed;
    char why[ERR_TEXT_MAX];
};

static struct call *call_new(struct lm_api *api, bool chat)
{
    struct call *call = mem_alloc(sizeof *call);
    atomic_init(&call->refs, 1);
    call->api = api;
    call->chat = chat;
    call->created = clock_wall_ms() / 1000;
    snprintf(call->id, sizeof call->id, "%s-%llx-%llx", chat ? "chatcmpl" : "cmpl",
             (unsigned long long)clock_wall_ms(), atomic_fetch_add(&api->calls, 1) + 1);
    pthread_mutex_init(&call->lock, NULL);
    pthread_mutex_lock(&api->lock);
    api->running++;
    pthread_mutex_unlock(&api->lock);
    return call;
}

static void free_parts(struct call *call)
{
    for (size_t i = 0; i < call->choice_count; i++)
        lm_api_choice_deinit(&call->choices[i]);
    for (size_t i = 0; call->parts && i < call->request.prompt_count; i++) {
        tokens_deinit(&call->parts[i].scored.ids);
        mem_free(call->parts[i].scored.logprobs);
        mem_free(call->parts[i].scored.top);
    }
    mem_free(call->choices);
    mem_free(call->parts);
}

static void call_unref(struct call *call)
{
    struct lm_api *api = call->api;
    if (atomic_fetch_sub(&call->refs, 1) != 1)
        return;
    free_parts(call);
    atomic_fetch_sub(&api->choices, call->reserved);
    arena_deinit(&call->arena);
    pthread_mutex_destroy(&call->lock);
    mem_free(call);
    pthread_mutex_lock(&api->lock);
    if (--api->running == 0)
        pthread_cond_broadcast(&api->idle);
    pthread_mutex_unlock(&api->lock);
}

static void call_cancel(const struct call *call)
{
    for (size_t i = 0; i < call->request.prompt_count; i++)
        if (call->parts[i].submitted)
            lm_engine_cancel(call->api->options.engine, call->parts[i].id);
}

static json_t *usage_json(const struct call *call)
{
    json_int_t prompt = 0, completion = 0;
    for (size_t i = 0; i < call->request.prompt_count; i++)
        prompt += (json_int_t)call->parts[i].scored.ids.count;
    for (size_t i = 0; i < call->choice_count; i++)
        completion += (json_int_t)call->choices[i].count;
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", prompt, "completion_tokens", completion,
                     "total_tokens", prompt + completion);
}

static json_t *prompt_ids(const struct call *call)
{
    const struct tokens *ids = &call->parts[0].scored.ids;
    return json_integers(ids->ids, ids->count);
}

/* The common first members of all answers and chunks. */
static json_t *begin_answer(const struct call *call, json_t *choices)
{
    const char *object = call->request.stream ? "chat.completion.chunk" : "chat.completion";
    json_t *answer = json_object();
    json_put(answer, "id", json_text(call->id));
    json_put(answer, "object", json_text(call->chat ? object : "text_completion"));
    json_put(answer, "created", json_integer(call->created));
    json_put(answer, "model", json_text(call->api->model));
    json_put(answer, "choices", choices);
    return answer;
}

static json_t *whole_answer(struct call *call)
{
    json_t *choices = json_array();
    for (size_t i = 0; i < call->choice_count; i++)
        json_array_append_new(choices, lm_api_choice_next(&call->choices[i], call->chat));
    json_t *answer = begin_answer(call, choices);
    if (call->request.token_ids && call->request.prompt_count == 1)
        json_put(answer, "prompt_token_ids", prompt_ids(call));
    json_put(answer, "usage", usage_json(call));
    return answer;
}

/* Takes the event. A closed connection is reported by `gone`. */
static void send_event(struct http_stream *stream, json_t *event)
{
    (void)http_stream_send_json(stream, NULL, NULL, event);
    json_decref(event);
}

/* With the lock: sends what is new of a choice. */
static void call_send_new(struct call *call, struct lm_api_choice *choice)
{
    json_t *delta = lm_api_choice_next(choice, call->chat);
    if (!delta)
        return;
    json_t *list = json_array();
    json_array_append_new(list, delta);
    json_t *chunk = begin_answer(call, list);
    if (call->request.usage)
        json_put(chunk, "usage", json_null());
    send_event(call->stream, chunk);
}

static void end_stream(struct call *call, struct http_stream *stream)
{
    if (call->failed) {
        send_event(stream, lm_api_error(500, NULL, "internal", call->why));
    } else if (call->request.usage) {
        json_t *chunk = begin_answer(call, json_array());
        json_put(chunk, "usage", usage_json(call));
        send_event(stream, chunk);
    }
    (void)http_stream_send(stream, &(struct http_event){.data = "[DONE]"});
    http_stream_close(stream);
}

static void end_waiter(struct call *call, struct http_waiter *waiter)
{
    struct http_response *response = http_response_new(waiter);
    if (call->failed)
        lm_api_refuse(response, 500, NULL, "internal", call->why);
    else
        http_set_json(response, whole_answer(call));
    (void)http_answer(waiter, response);
}

/* The call has ended; nothing else accesses it. */
static void call_end(struct pool_task *work)
{
    struct call *call = TASK_CONTAINER(work, struct call, ending);
    if (call->stream)
        end_stream(call, call->stream);
    else
        end_waiter(call, call->waiter);
    call_unref(call);
}

/* The last of engine and handlers begins the end. */
static void end_if_over(struct call *call)
{
    pthread_mutex_lock(&call->lock);
    bool ours = call->attached && call->left == 0 && !call->over;
    call->over |= ours;
    pthread_mutex_unlock(&call->lock);
    if (!ours)
        return;
    atomic_fetch_add(&call->refs, 1);
    call->ending.run = call_end;
    if (!task_pool_submit(call->api->pool, &call->ending))
        call_end(&call->ending);
}

static void call_fail(struct call *call, const char *why)
{
    if (!call->failed)
        snprintf(call->why, sizeof call->why, "%s", why);
    call->failed = true;
}

static void on_sample(void *context, size_t index, const struct lm_sample *sample)
{
    struct part *part = context;
    struct call *call = part->call;
    struct lm_api_choice *choice = &part->choices[index];
    struct err err;
    pthread_mutex_lock(&call->lock);
    if (lm_api_choice_take(choice, sample, &err) < 0)
        call_fail(call, err.text);
    if (sample->finish == LM_FAILED)
        call_fail(call,
                  "the model failed: its numbers are not finite, or its device gave an error");
    if (sample->finish == LM_CANCELLED)
        call_fail(call, "the request was cancelled: the server is stopping");
    if (call->stream && !call->failed)
        call_send_new(call, choice);
    bool ended = sample->finish != LM_RUNNING;
    bool last = ended && --part->left == 0;
    call->left -= ended;
    pthread_mutex_unlock(&call->lock);
    if (!last)
        return;
    end_if_over(call);
    call_unref(call);
}

static void on_scored(void *context, const float *logprobs, const struct lm_top *top)
{
    struct part *part = context;
    struct call *call = part->call;
    const size_t count = part->scored.ids.count, width = call->request.sampling.top_logprobs;
    pthread_mutex_lock(&call->lock);
    part->scored.logprobs = mem_copy(logprobs, count * sizeof *logprobs);
    if (top && width > 0)
        part->scored.top = mem_copy(top, count * width * sizeof *top);
    pthread_mutex_unlock(&call->lock);
}

static int encode_prompt(struct call *call, size_t index, struct tokens *out, struct err *err)
{
    const struct lm_api_options *options = &call->api->options;
    const struct lm_api_request *request = &call->request;
    const struct chat_options chat = {options->style, request->thinking, true};
    const struct tokenizer_encoding how = {.special = true, .begin = true};
    if (call->chat)
        return chat_encode(options->tokenizer, request->messages, request->message_count, &chat,
                           out, NULL, err);
    const struct lm_api_prompt *prompt = &request->prompts[index];
    if (prompt->text)
        return tokenizer_encode(options->tokenizer, prompt->text, strlen(prompt->text), &how, out,
                                err);
    int result = 0;
    for (size_t i = 0; i < prompt->count && result == 0; i++)
        result = tokens_add(out, prompt->ids[i], err);
    return result;
}

static int check_length(const struct call *call, size_t count, struct err *err)
{
    const size_t positions = call->api->options.positions;
    const size_t wanted = call->request.sampling.max_tokens;
    if (count == 0)
        return err_set(err, ERR_INPUT, "the prompt is empty");
    if (count < positions && wanted <= positions - count)
        return 0;
    return err_set(err, ERR_LIMIT,
                   "the model takes %zu tokens in all: the prompt has %zu, and %zu are requested",
                   positions, count, wanted ? wanted : 1);
}

/* A request of a hundred bytes must not produce an answer of gigabytes. */
static int check_listed(const struct call *call, struct err *err)
{
    const struct lm_api_request *request = &call->request;
    const size_t positions = call->api->options.positions;
    size_t tokens = 0;
    for (size_t i = 0; i < request->prompt_count; i++) {
        const size_t prompt = call->parts[i].scored.ids.count;
        const size_t most = request->sampling.max_tokens;
        tokens += most > 0 ? most : positions - prompt;
        tokens += request->echo ? prompt : 0;
    }
    const size_t listed = tokens * request->samples * (1 + request->sampling.top_logprobs);
    if (!request->logprobs || listed <= LIMIT_LM_LISTED)
        return 0;
    return err_set(err, ERR_INPUT,
                   "up to %zu log-probabilities would be listed; the limit is %d: ask for fewer "
                   "tokens, choices or alternatives",
                   listed, LIMIT_LM_LISTED);
}

/* Makes a part for each prompt, with its choices; submits nothing yet. */
static int make_parts(struct call *call, struct err *err)
{
    const struct lm_api_request *request = &call->request;
    int result = 0;
    call->parts = mem_alloc(request->prompt_count * sizeof *call->parts);
    call->choices = mem_alloc(request->prompt_count * request->samples * sizeof *call->choices);
    for (size_t i = 0; i < request->prompt_count && result == 0; i++) {
        struct part *part = &call->parts[i];
        part->call = call;
        part->left = request->samples;
        part->choices = &call->choices[call->choice_count];
        result = encode_prompt(call, i, &part->scored.ids, err);
        if (result == 0)
            result = check_length(call, part->scored.ids.count, err);
        for (size_t k = 0; k < request->samples; k++, call->choice_count++)
            lm_api_choice_init(&part->choices[k], call->choice_count, request,
                               call->api->options.tokenizer, &part->scored);
    }
    call->left = call->choice_count;
    return result < 0 ? result : check_listed(call, err);
}

static int part_submit(struct call *call, struct part *part, struct err *err)
{
    const struct lm_request request = {
        .prompt = part->scored.ids.ids,
        .prompt_count = part->scored.ids.count,
        .samples = call->request.samples,
        .sampling = call->request.sampling,
        .tokenizer = call->api->options.tokenizer,
        .on_event = on_sample,
        .scored = on_scored,
        .context = part,
    };
    atomic_fetch_add(&call->refs, 1);
    int result = lm_engine_submit(call->api->options.engine, &request, &part->id, err);
    part->submitted = result == 0;
    if (result < 0)
        call_unref(call);
    return result;
}

static void on_gone(void *context)
{
    call_cancel(context);
}

static void on_release(void *context)
{
    call_unref(context);
}

static void on_late(void *context, struct http_request *request, struct http_response *response)
{
    call_cancel(context);
    lm_api_refuse(response, 504, NULL, "timeout", "the answer took more than a day");
}

/* After this the answer does not need the handler. */
static void call_attach(struct call *call, struct http_request *request)
{
    const struct http_wait wait = {.timeout_ms = LATE_MS,
                                   .late = on_late,
                                   .gone = on_gone,
                                   .release = on_release,
                                   .context = call};
    const struct http_stream_options stream = {.backlog_bytes = LIMIT_EVENT_BYTES,
                                               .gone = on_gone,
                                               .release = on_release,
                                               .context = call};
    atomic_fetch_add(&call->refs, 1);
    pthread_mutex_lock(&call->lock);
    if (call->request.stream)
        call->stream = http_stream_open(request, &stream);
    else
        call->waiter = http_postpone(request, &wait);
    for (size_t i = 0; call->stream && !call->failed && i < call->choice_count; i++)
        call_send_new(call, &call->choices[i]);
    call->attached = true;
    pthread_mutex_unlock(&call->lock);
    end_if_over(call);
}

/* Reserves its choices; draws a seed. */
static bool call_admit(struct call *call, struct http_response *response)
{
    struct lm_api *api = call->api;
    struct lm_api_request *request = &call->request;
    if (!lm_api_has_model(api, request->model, response))
        return false;
    call->reserved = request->prompt_count * request->samples;
    if (atomic_fetch_add(&api->choices, call->reserved) + call->reserved >
        api->options.choices_max) {
        http_refuse_for(response, 429, RETRY_AFTER_S, "queue_full",
                        "%zu choices are running or waiting, the limit", api->options.choices_max);
        return false;
    }
    if (!request->seeded &&
        getrandom(&request->sampling.seed, sizeof request->sampling.seed, 0) < 0)
        request->sampling.seed = (uint64_t)clock_now_ns();
    return true;
}

/* The end of a turn ends a chat's answer even if the model's config has another end (of a text). */
static void stop_at_turns(struct call *call)
{
    struct lm_sampling *sampling = &call->request.sampling;
    const size_t count = sampling->stop_token_count;
    const int32_t end = chat_end_token(call->api->options.tokenizer);
    if (!call->chat || end < 0 || sampling->ignore_model_stops)
        return;
    int32_t *ids = arena_alloc(&call->arena, (count + 1) * sizeof *ids);
    if (count > 0)
        memcpy(ids, sampling->stop_tokens, count * sizeof *ids);
    ids[count] = end;
    sampling->stop_tokens = ids;
    sampling->stop_token_count = count + 1;
}

/* Submits all parts or none. */
static int submit_all(struct call *call, struct err *err)
{
    int result = make_parts(call, err);
    stop_at_turns(call);
    for (size_t i = 0; i < call->request.prompt_count && result == 0; i++)
        result = part_submit(call, &call->parts[i], err);
    if (result < 0)
        call_cancel(call);
    return result;
}

void lm_api_call(struct lm_api *api, bool chat, struct http_request *request,
                 struct http_response *response)
{
    char param[LM_API_PARAM_MAX];
    struct err err;
    json_t *body = lm_api_body(api, request, response);
    if (!body)
        return;
    struct call *call = call_new(api, chat);
    if (lm_api_request_read(body, chat ? LM_API_CHAT : LM_API_COMPLETION, &call->arena,
                            &call->request, param, &err) < 0) {
        call->request.prompt_count = 0;
        lm_api_refuse_request(response, param, &err);
    } else if (call_admit(call, response)) {
        if (submit_all(call, &err) < 0)
            lm_api_refuse_request(response, "", &err);
        else
            call_attach(call, request);
    }
    call_unref(call);
}
