/* tinker: a model that a Tinker service, or SkyRL's server, trains and samples from.
 *
 * Requests of one model go out one by one in the order of their numbers; chunks of one pass are all
 * sent before the first is waited for. A number is never used for two requests: what failed in a
 * way that leaves open whether it was done makes the learner say so until a checkpoint is loaded,
 * which is a new model on the server ("create from state").
 *
 * A model is made when the first request needs it, so that going on from a checkpoint makes one,
 * not two. */
#include "base/json.h"
#include "base/mem.h"
#include "policy/learner_maker.h"
#include "policy/tinker_session.h"
#include "policy/tinker_wire.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BODY_BYTES ((size_t)64 << 20)
#define NAMES 9 /* that are tried for a checkpoint of a name that is taken */
#define LOST 3  /* promises of one sample that a server may lose */

struct tinker {
    struct tinker_link *link, *parting; /* the second one is not cancelled */
    const _Atomic int *cancelled;
    struct tinker_session session;
    char *base;
    size_t rank;
    uint64_t seed;
    int32_t stops[LEARNER_STOPS_MAX];
    size_t stop_count;

    pthread_mutex_t lock; /* of all below up to `torn`; held while a request of the model lasts */
    char *model;
    uint64_t models, samplers; /* that were asked for in this session */
    uint64_t number;           /* of the model's last request */
    uint64_t steps;
    bool torn; /* nobody knows what the model holds */

    pthread_mutex_t sampler_lock; /* a sample must not wait for a pass; taken behind `lock` */
    char *sampler;
    _Atomic uint64_t questions;
};

/* ------------------------------------------------------------------------------------- requests */

static void begin_body(struct buf *body)
{
    buf_init(body, BODY_BYTES);
    buf_puts(body, "{");
}

static void put_key(struct buf *body, const char *key, const char *text)
{
    buf_printf(body, "%s\"%s\":", body->len > 1 ? "," : "", key);
    tinker_put_text(body, text);
}

static void put_number(struct buf *body, const char *key, uint64_t value)
{
    buf_printf(body, "%s\"%s\":%" PRIu64, body->len > 1 ? "," : "", key, value);
}

struct wish {
    struct tinker_link *link;
    const char *target;
    int fine; /* as in tinker_call */
};

/* Ends the body, asks, and waits for what comes of it (NULL: nobody wants it). */
static int command(const struct wish *wish, struct buf *body, json_t **result, int *status,
                   struct err *err)
{
    json_t *own = NULL;
    char *id = NULL;
    int found = 0;
    buf_puts(body, "}");
    const struct tinker_call call = {.method = "POST",
                                     .target = wish->target,
                                     .body = body,
                                     .fine = wish->fine};
    int code = tinker_submit(wish->link, &call, &id, &found, err);
    if (code == 0 && id)
        code = tinker_await(wish->link, id, &call, &own, NULL, err);
    if (status)
        *status = id ? 200 : found;
    if (code == 0 && result)
        *result = own;
    else
        json_decref(own);
    mem_free(id);
    return code;
}

/* A request that begin_request began. One that was refused is none, and its number is free. */
static int numbered(struct tinker *tinker, const struct wish *wish, struct buf *body,
                    json_t **result, int *status, struct err *err)
{
    int found = 0;
    int code = command(wish, body, result, &found, err);
    if (found >= 400 && found < 500)
        tinker->number--;
    if (status)
        *status = found;
    return code;
}

/* A promise that was lost is none of our files. */
static int as_io(int code, struct err *err)
{
    if (code != ERR_MISSING)
        return code;
    if (err)
        err->code = ERR_IO;
    return ERR_IO;
}

/* ------------------------------------------------------------------------------------ models */

static void put_lora(struct buf *body, const struct tinker *tinker)
{
    buf_printf(body,
               ",\"lora_config\":{\"rank\":%zu,\"seed\":%" PRIu64 ",\"train_unembed\":true,"
               "\"train_mlp\":true,\"train_attn\":true}",
               tinker->rank, tinker->seed & INT32_MAX);
}

static int create_model(struct tinker *tinker, struct err *err)
{
    const struct wish wish = {tinker->link, "/api/v1/create_model", 0};
    struct buf body;
    json_t *result = NULL;
    begin_body(&body);
    put_key(&body, "session_id", tinker->session.id);
    put_number(&body, "model_seq_id", tinker->models++);
    put_key(&body, "base_model", tinker->base);
    put_lora(&body, tinker);
    put_key(&body, "type", "create_model");
    int code = command(&wish, &body, &result, NULL, err);
    if (code == 0 && !json_text_at(result, "model_id")[0])
        code = err_set(err, ERR_PROTOCOL, "the server's answer to create_model has no 'model_id'");
    if (code == 0) {
        tinker->model = mem_strdup(json_text_at(result, "model_id"));
        tinker->number = tinker->steps = 0;
        tinker->torn = false;
    }
    json_decref(result);
    buf_deinit(&body);
    return code;
}

/* `sampler` becomes ours. */
static void set_sampler(struct tinker *tinker, char *sampler)
{
    pthread_mutex_lock(&tinker->sampler_lock);
    mem_free(tinker->sampler);
    tinker->sampler = sampler;
    pthread_mutex_unlock(&tinker->sampler_lock);
}

static char *copy_sampler(struct tinker *tinker)
{
    pthread_mutex_lock(&tinker->sampler_lock);
    char *sampler = tinker->sampler ? mem_strdup(tinker->sampler) : NULL;
    pthread_mutex_unlock(&tinker->sampler_lock);
    return sampler;
}

/* Best effort: a session that ends takes its models along. */
static void unload_model(struct tinker *tinker)
{
    struct buf body;
    json_t *result = NULL;
    char *id = NULL;
    if (!tinker->model)
        return;
    begin_body(&body);
    put_key(&body, "model_id", tinker->model);
    put_key(&body, "type", "unload_model");
    buf_puts(&body, "}");
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/unload_model",
                                     .body = &body,
                                     .once = true};
    if (tinker_submit(tinker->parting, &call, &id, NULL, NULL) == 0 &&
        tinker_await(tinker->parting, id, &call, &result, NULL, NULL) == 0)
        json_decref(result);
    mem_free(id);
    buf_deinit(&body);
    mem_free(tinker->model);
    tinker->model = NULL;
    set_sampler(tinker, NULL);
}

/* Begins a request of the model's, which is made where there is none yet. */
static int begin_request(struct tinker *tinker, struct buf *body, struct err *err)
{
    int result = tinker->torn ? err_set(err, ERR_INPUT,
                                        "a request to train failed in its middle, so that nobody "
                                        "knows what the model holds: go on from a checkpoint")
                              : 0;
    if (result == 0 && !tinker->model)
        result = create_model(tinker, err);
    if (result < 0)
        return result;
    begin_body(body);
    put_key(body, "model_id", tinker->model);
    put_number(body, "seq_id", ++tinker->number);
    return 0;
}

/* -------------------------------------------------------------------------------------- opening */

static void tinker_close(void *state)
{
    struct tinker *tinker = state;
    unload_model(tinker);
    tinker_session_close(&tinker->session);
    tinker_link_close(tinker->parting);
    tinker_link_close(tinker->link);
    pthread_mutex_destroy(&tinker->sampler_lock);
    pthread_mutex_destroy(&tinker->lock);
    mem_free(tinker->base);
    mem_free(tinker);
}

static int check_options(const struct learner_options *options, const char *url, struct err *err)
{
    if (!url || !url[0])
        return err_set(err, ERR_INPUT,
                       "nobody trains: set TINKER_BASE_URL to the address of a Tinker server");
    if (options->lora_rank == 0)
        return err_set(err, ERR_INPUT,
                       "a Tinker server trains adapters: give one a rank (32, say), or train all "
                       "parameters with kind=engine");
    if (!options->tokenizer || !options->tokenizer[0])
        return err_set(err, ERR_INPUT,
                       "a Tinker server works on tokens: name a directory with the tokenizer of "
                       "'%.200s'",
                       options->model);
    return 0;
}

static int open_links(struct tinker *tinker, const struct learner_options *options, const char *url,
                      struct err *err)
{
    struct tinker_link_options link = {.url = url,
                                       .settings = options->settings,
                                       .cancelled = options->cancelled,
                                       .at_once = options->at_once + 2};
    int result = tinker_link_open(&tinker->link, &link, err);
    link.cancelled = NULL;
    link.at_once = 1;
    return result < 0 ? result : tinker_link_open(&tinker->parting, &link, err);
}

static int settle_context(const struct tinker *tinker, size_t *context, struct err *err)
{
    const size_t most = tinker->session.context;
    if (*context == 0)
        *context = most;
    if (*context == 0)
        return err_set(err, ERR_INPUT,
                       "the server does not tell how long a context '%.200s' has: set one",
                       tinker->base);
    if (most > 0 && *context > most)
        return err_set(err, ERR_INPUT, "a context of %zu tokens; '%.200s' has %zu there", *context,
                       tinker->base, most);
    return 0;
}

static int tinker_open(void **state, const struct learner_options *options,
                       const struct tokens *stops, size_t *context, struct err *err)
{
    const char *url = options->url && options->url[0] ? options->url : getenv("TINKER_BASE_URL");
    int result = check_options(options, url, err);
    if (result < 0)
        return result;
    struct tinker *tinker = mem_alloc(sizeof *tinker);
    pthread_mutex_init(&tinker->lock, NULL);
    pthread_mutex_init(&tinker->sampler_lock, NULL);
    tinker->cancelled = options->cancelled;
    tinker->base = mem_strdup(options->model);
    tinker->rank = options->lora_rank;
    tinker->seed = options->seed;
    tinker->stop_count = stops->count;
    for (size_t i = 0; i < stops->count; i++)
        tinker->stops[i] = stops->ids[i];
    result = open_links(tinker, options, url, err);
    if (result == 0)
        result = tinker_session_open(&tinker->session, tinker->link, tinker->base, err);
    if (result == 0)
        result = settle_context(tinker, context, err);
    if (result < 0) {
        tinker_close(tinker);
        return result;
    }
    *state = tinker;
    return 0;
}

/* ------------------------------------------------------------------------------------- sampling */

/* A server that did not make the sampler itself has named what one is made of. */
static int open_sampler(struct tinker *tinker, const char *path, char **sampler, struct err *err)
{
    struct buf body;
    json_t *answer = NULL;
    begin_body(&body);
    put_key(&body, "session_id", tinker->session.id);
    put_number(&body, "sampling_session_seq_id", tinker->samplers++);
    put_key(&body, "model_path", path);
    put_key(&body, "type", "create_sampling_session");
    buf_puts(&body, "}");
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/create_sampling_session",
                                     .body = &body};
    int result = tinker_ask(tinker->link, &call, &answer, NULL, err);
    const char *id = json_text_at(answer, "sampling_session_id");
    if (result == 0 && !id[0])
        result =
            err_set(err, ERR_PROTOCOL,
                    "the server's answer to create_sampling_session has no 'sampling_session_id'");
    if (result == 0)
        *sampler = mem_strdup(id);
    json_decref(answer);
    buf_deinit(&body);
    return result;
}

/* A frozen copy of the weights as they are. */
static int freeze(struct tinker *tinker, struct err *err)
{
    const struct wish wish = {tinker->link, "/api/v1/save_weights_for_sampler", 0};
    struct buf body;
    json_t *result = NULL;
    char *sampler = NULL;
    int code = begin_request(tinker, &body, err);
    if (code < 0)
        return code;
    put_number(&body, "sampling_session_seq_id", tinker->samplers++);
    put_key(&body, "type", "save_weights_for_sampler");
    code = numbered(tinker, &wish, &body, &result, NULL, err);
    if (code == 0) {
        const char *id = json_text_at(result, "sampling_session_id");
        const char *path = json_text_at(result, "path");
        if (id[0])
            sampler = mem_strdup(id);
        else if (path[0])
            code = open_sampler(tinker, path, &sampler, err);
        else
            code = err_set(err, ERR_PROTOCOL,
                           "the server's answer to save_weights_for_sampler names no sampler");
    }
    if (code == 0)
        set_sampler(tinker, sampler);
    json_decref(result);
    buf_deinit(&body);
    return code;
}

static int tinker_refresh(void *state, uint64_t *version, struct err *err)
{
    struct tinker *tinker = state;
    pthread_mutex_lock(&tinker->lock);
    int result = freeze(tinker, err);
    if (result == 0)
        *version = tinker->steps;
    pthread_mutex_unlock(&tinker->lock);
    return as_io(result, err);
}

/* Before the first refresh samples are of the weights that the model begins with. */
static int find_sampler(struct tinker *tinker, char **sampler, struct err *err)
{
    int result = 0;
    *sampler = copy_sampler(tinker);
    if (*sampler)
        return 0;
    pthread_mutex_lock(&tinker->lock);
    *sampler = copy_sampler(tinker); /* another thread may have been here before */
    if (!*sampler)
        result = freeze(tinker, err);
    if (!*sampler && result == 0)
        *sampler = copy_sampler(tinker);
    pthread_mutex_unlock(&tinker->lock);
    return as_io(result, err);
}

static int tinker_sample(void *state, const struct tokens *prompt,
                         const struct learner_sampling *sampling, struct learner_answer *answer,
                         struct err *err)
{
    struct tinker *tinker = state;
    const struct wish wish = {tinker->link, "/api/v1/asample", 0};
    struct tinker_question question = {.prompt = prompt,
                                       .sampling = sampling,
                                       .stops = tinker->stops,
                                       .stop_count = tinker->stop_count};
    char *sampler;
    int result = find_sampler(tinker, &sampler, err);
    if (result < 0)
        return result;
    question.sampler = sampler;
    result = ERR_MISSING;
    for (unsigned lost = 0; lost < LOST && result == ERR_MISSING; lost++) {
        struct buf body;
        json_t *found = NULL;
        buf_init(&body, BODY_BYTES);
        question.number = tinker->questions++;
        tinker_put_sample(&body, &question);
        body.data[--body.len] = '\0'; /* command() ends it */
        result = command(&wish, &body, &found, NULL, err);
        if (result == 0)
            result = tinker_read_sample(found, sampling->max_tokens, answer, err);
        json_decref(found);
        buf_deinit(&body);
    }
    mem_free(sampler);
    return as_io(result, err);
}

/* ------------------------------------------------------------------------------------- training */

/* How many datums from the first make one chunk. */
static size_t chunk_of(const struct tinker *tinker, const struct lm_datum *datums, size_t count)
{
    size_t taken = 0, bytes = 0;
    while (taken < count && taken < tinker->session.chunk_count) {
        bytes += tinker_datum_bytes(&datums[taken]);
        if (taken > 0 && bytes > tinker->session.chunk_bytes)
            break;
        taken++;
    }
    return taken;
}

struct pass {
    const struct loss *loss;
    struct loss_config config;
    bool gradients;
    const char *target;
};

static int send_chunk(struct tinker *tinker, const struct pass *pass, const struct lm_datum *datums,
                      size_t count, char **id, struct err *err)
{
    struct buf body;
    int status = 0, result = begin_request(tinker, &body, err);
    if (result < 0)
        return result;
    buf_printf(&body, ",\"%s\":", pass->gradients ? "forward_backward_input" : "forward_input");
    tinker_put_pass(&body, pass->loss, &pass->config, datums, count);
    buf_puts(&body, "}");
    const struct tinker_call call = {.method = "POST", .target = pass->target, .body = &body};
    result = body.cut ? err_set(err, ERR_LIMIT, "a datum is too long for one request of %zu bytes",
                                BODY_BYTES)
                      : tinker_submit(tinker->link, &call, id, &status, err);
    if (body.cut || (status >= 400 && status < 500))
        tinker->number--;
    else if (result < 0)
        tinker->torn = true; /* a server that never saw this number waits for it */
    buf_deinit(&body);
    return result;
}

/* The server's log-probabilities, and what the loss makes of them here: sums in the order of
 * datums, as of every other kind of learner. */
static int take_datum(const struct pass *pass, const json_t *result, size_t index,
                      struct lm_datum *datum, struct loss_sums *sums, struct err *err)
{
    float *logprob = datum->logprob ? datum->logprob : mem_alloc(datum->count * sizeof *logprob);
    int code = tinker_read_logprobs(result, index, logprob, datum->count, err);
    if (code == 0) {
        const struct loss_input input = {.count = datum->count,
                                         .targets_per_row = 1,
                                         .logprob = logprob,
                                         .weights = datum->weights,
                                         .sampled = datum->sampled,
                                         .advantages = datum->advantages};
        struct loss_sums own;
        pass->loss->apply(&pass->config, &input, NULL, &own);
        loss_sums_add(sums, &own);
    }
    for (size_t i = 0; datum->entropy && i < datum->count; i++)
        datum->entropy[i] = NAN;
    for (size_t i = 0; datum->collision && i < datum->count; i++)
        datum->collision[i] = NAN;
    if (logprob != datum->logprob)
        mem_free(logprob);
    return code;
}

static int take_chunk(struct tinker *tinker, const struct pass *pass, const char *id,
                      struct lm_datum *datums, size_t count, struct loss_sums *sums,
                      struct err *err)
{
    const struct tinker_call call = {.target = pass->target};
    json_t *result = NULL;
    int code = tinker_await(tinker->link, id, &call, &result, NULL, err);
    for (size_t i = 0; i < count && code == 0; i++)
        code = take_datum(pass, result, i, &datums[i], sums, err);
    json_decref(result);
    return code;
}

static int run_pass(struct tinker *tinker, const struct pass *pass, struct lm_datum *datums,
                    size_t count, struct loss_sums *sums, struct err *err)
{
    char **ids = mem_alloc((count + 1) * sizeof *ids);
    size_t *sizes = mem_alloc((count + 1) * sizeof *sizes), chunks = 0;
    int result = 0;
    for (size_t at = 0; at < count && result == 0; at += sizes[chunks++]) {
        sizes[chunks] = chunk_of(tinker, datums + at, count - at);
        result = send_chunk(tinker, pass, datums + at, sizes[chunks], &ids[chunks], err);
    }
    for (size_t i = 0, at = 0; i < chunks && result == 0; at += sizes[i++])
        result = take_chunk(tinker, pass, ids[i], datums + at, sizes[i], sums, err);
    for (size_t i = 0; i < chunks; i++)
        mem_free(ids[i]);
    mem_free(sizes);
    mem_free(ids);
    return result;
}

/* What the server lost is not coming back, and what it did of it nobody knows. */
static int fail(struct tinker *tinker, int result, struct err *err)
{
    if (result < 0)
        tinker->torn = true;
    return as_io(result, err);
}

static int tinker_pass(void *state, struct lm_datum *datums, size_t count, const struct loss *loss,
                       const struct loss_config *config, bool gradients, struct loss_sums *sums,
                       struct err *err)
{
    struct tinker *tinker = state;
    struct pass pass = {.loss = loss,
                        .config = config ? *config : loss_config_defaults,
                        .gradients = gradients,
                        .target = gradients ? "/api/v1/forward_backward" : "/api/v1/forward"};
    *sums = (struct loss_sums){0};
    int result = tinker_check_pass(loss, &pass.config, datums, count, err);
    if (result < 0)
        return result;
    pthread_mutex_lock(&tinker->lock);
    bool torn = tinker->torn;
    result = run_pass(tinker, &pass, datums, count, sums, err);
    if (gradients && !torn)
        result = fail(tinker, result, err);
    pthread_mutex_unlock(&tinker->lock);
    return as_io(result, err);
}

static int step(struct tinker *tinker, const struct lm_adam *adam, double *norm, struct err *err)
{
    const struct wish wish = {tinker->link, "/api/v1/optim_step", 0};
    struct buf body;
    json_t *found = NULL;
    int result = begin_request(tinker, &body, err);
    if (result < 0)
        return result;
    buf_printf(&body,
               ",\"adam_params\":{\"learning_rate\":%.17g,\"beta1\":%.17g,\"beta2\":%.17g,"
               "\"eps\":%.17g,\"weight_decay\":%.17g,\"grad_clip_norm\":%.17g}",
               adam->rate, adam->beta1, adam->beta2, adam->epsilon, adam->decay, adam->clip);
    put_key(&body, "type", "optim_step");
    result = numbered(tinker, &wish, &body, &found, NULL, err);
    if (result == 0) {
        tinker->steps++;
        *norm = tinker_read_norm(found);
    }
    json_decref(found);
    buf_deinit(&body);
    return fail(tinker, result, err);
}

static int tinker_step(void *state, const struct lm_adam *adam, double *norm, struct err *err)
{
    struct tinker *tinker = state;
    pthread_mutex_lock(&tinker->lock);
    int result = step(tinker, adam, norm, err);
    pthread_mutex_unlock(&tinker->lock);
    return result;
}

/* ---------------------------------------------------------------------------------- checkpoints */

/* Under `name`; *taken says that there is one of that name. Who was interrupted still saves. */
static int save_as(struct tinker *tinker, const char *name, bool *taken, char **where,
                   struct err *err)
{
    const bool over = tinker->cancelled && *tinker->cancelled;
    const struct wish wish = {over ? tinker->parting : tinker->link, "/api/v1/save_weights", 409};
    struct buf body;
    struct tinker_path path;
    json_t *result = NULL;
    int status = 0, code = begin_request(tinker, &body, err);
    if (code < 0)
        return code;
    put_key(&body, "path", name);
    put_key(&body, "type", "save_weights");
    code = numbered(tinker, &wish, &body, &result, &status, err);
    *taken = code == 0 && status == 409;
    if (code == 0 && !*taken) {
        const char *text = json_text_at(result, "path");
        code = tinker_path_parse(&path, text, err);
        if (code == 0)
            *where = mem_strdup(text);
        else
            code = err_set(err, ERR_PROTOCOL, "the server's answer to save_weights has no 'path'");
        tinker_path_deinit(&path);
    }
    json_decref(result);
    buf_deinit(&body);
    return as_io(code, err);
}

/* A name may be taken by ourselves: by a request whose answer got lost. What that one saved may not
 * be whole, so another name it is. */
static int tinker_save(void *state, const char *directory, const char *name, char **where,
                       struct err *err)
{
    struct tinker *tinker = state;
    bool taken = true;
    int result = 0;
    (void)directory;
    pthread_mutex_lock(&tinker->lock);
    for (unsigned i = 0; i < NAMES && taken && result == 0; i++) {
        char *plain = tinker_name(name, i);
        result = save_as(tinker, plain, &taken, where, err);
        mem_free(plain);
    }
    pthread_mutex_unlock(&tinker->lock);
    if (result == 0 && taken)
        result = err_set(err, ERR_INPUT, "the server has a checkpoint '%.100s' already", name);
    return result;
}

/* What a checkpoint is of becomes what the next model is. */
static int look_at(struct tinker *tinker, const char *where, struct err *err)
{
    struct buf body;
    json_t *answer = NULL;
    begin_body(&body);
    put_key(&body, "tinker_path", where);
    buf_puts(&body, "}");
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/weights_info",
                                     .body = &body};
    int result = tinker_ask(tinker->link, &call, &answer, NULL, err);
    const char *base = json_text_at(answer, "base_model");
    const json_t *rank = json_object_get(answer, "lora_rank");
    if (result == 0 && base[0] && strcmp(base, tinker->base) != 0)
        result = err_set(err, ERR_INPUT, "%.200s is of the model '%.100s', not of '%.100s'", where,
                         base, tinker->base);
    if (result == 0 && json_is_integer(rank) && json_integer_value(rank) > 0)
        tinker->rank = (size_t)json_integer_value(rank);
    json_decref(answer);
    buf_deinit(&body);
    return result;
}

static int load(struct tinker *tinker, const char *where, bool optimizer, struct err *err)
{
    const struct wish wish = {tinker->link, "/api/v1/load_weights", 0};
    struct buf body;
    int result = look_at(tinker, where, err);
    if (result < 0)
        return result;
    unload_model(tinker); /* some servers hold one at a time */
    tinker->torn = false;
    result = begin_request(tinker, &body, err);
    if (result < 0)
        return result;
    put_key(&body, "path", where);
    buf_printf(&body, ",\"optimizer\":%s", optimizer ? "true" : "false");
    put_key(&body, "type", "load_weights");
    result = numbered(tinker, &wish, &body, NULL, NULL, err);
    buf_deinit(&body);
    return fail(tinker, result, err);
}

static int tinker_load(void *state, const char *directory, const char *where, bool optimizer,
                       struct err *err)
{
    struct tinker *tinker = state;
    struct tinker_path path;
    (void)directory;
    int result = tinker_path_parse(&path, where, err);
    tinker_path_deinit(&path);
    if (result < 0)
        return result;
    pthread_mutex_lock(&tinker->lock);
    result = load(tinker, where, optimizer, err);
    pthread_mutex_unlock(&tinker->lock);
    return result;
}

static int tinker_forget(void *state, const char *directory, const char *where, struct err *err)
{
    struct tinker *tinker = state;
    struct tinker_path path;
    json_t *answer = NULL;
    (void)directory;
    int result = tinker_path_parse(&path, where, err);
    if (result == 0) {
        char *target = mem_printf("/api/v1/training_runs/%s/checkpoints/weights/%s", path.run,
                                  path.name);
        const struct tinker_call call = {.method = "DELETE", .target = target, .fine = 404};
        result = tinker_ask(tinker->link, &call, &answer, NULL, err);
        mem_free(target);
    }
    json_decref(answer);
    tinker_path_deinit(&path);
    return result;
}

static int tinker_export(void *state, const char *directory, struct err *err)
{
    (void)state, (void)directory;
    return err_set(err, ERR_UNSUPPORTED,
                   "the weights are with the Tinker server: its own tools download them");
}

const struct learner_maker learner_tinker = {
    .kind = "tinker",
    .open = tinker_open,
    .close = tinker_close,
    .sample = tinker_sample,
    .pass = tinker_pass,
    .step = tinker_step,
    .refresh = tinker_refresh,
    .save = tinker_save,
    .load = tinker_load,
    .forget = tinker_forget,
    .export = tinker_export,
};
