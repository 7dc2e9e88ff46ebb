#include "policy/train_backend.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "lm/tokenizer/chat_json.h"
#include "policy/train_backend_ops.h"

#include <pthread.h>
#include <string.h>

static const struct train_backend_ops *const backend_kinds[] = {
    [TRAIN_ENGINE] = &train_backend_engine,
    [TRAIN_TINKER] = &train_backend_tinker,
};

struct train_backend {
    const struct train_backend_ops *ops;
    void *state;
    struct tokenizer *tokenizer;
    enum chat_style style;
    size_t context;

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t samples_changed;
    size_t under_way; /* samples in flight, all of one version */
    bool refreshing;  /* new samples wait */
    uint64_t version;
};

static int open_tokenizer(struct train_backend *backend, const char *directory, struct err *err)
{
    int result = tokenizer_open(&backend->tokenizer, directory, err);
    if (result == 0)
        result = chat_style_of(directory, &backend->style, err);
    return result;
}

/* The stop tokens of the chat styles of chat.h. */
static int find_stops(const struct train_backend *backend, struct tokens *stops, struct err *err)
{
    static const char end_of_text[] = "<|endoftext|>";
    const int32_t ids[] = {chat_end_token(backend->tokenizer),
                           tokenizer_id(backend->tokenizer, end_of_text)};
    int result = 0;
    for (size_t i = 0; i < COUNT(ids) && result == 0; i++)
        if (ids[i] >= 0)
            result = tokens_add(stops, ids[i], err);
    return result;
}

static struct train_backend *new_train_backend(const struct train_backend_ops *ops, size_t context)
{
    struct train_backend *backend = mem_alloc(sizeof *backend);
    backend->ops = ops;
    backend->context = context;
    pthread_mutex_init(&backend->lock, NULL);
    pthread_cond_init(&backend->samples_changed, NULL);
    return backend;
}

int train_backend_open(struct train_backend **out, const struct train_backend_options *options,
                       struct err *err)
{
    const struct train_backend_ops *ops = backend_kinds[options->kind];
    const char *tokenizer = options->tokenizer && options->tokenizer[0] ? options->tokenizer
                                                                        : options->model;
    *out = NULL;
    if (!options->model || !options->model[0])
        return err_set(err, ERR_INPUT, "name a model to train");
    struct train_backend *backend = new_train_backend(ops, options->context);
    struct tokens stops = {0};
    int result = open_tokenizer(backend, tokenizer, err);
    if (result == 0)
        result = find_stops(backend, &stops, err);
    if (result == 0)
        result = ops->open(&backend->state, options, &stops, &backend->context, err);
    tokens_deinit(&stops);
    if (result < 0) {
        train_backend_close(backend);
        return result;
    }
    *out = backend;
    return 0;
}

int train_backend_open_base(struct train_backend **out, const struct train_backend *of,
                            const struct train_backend_options *options, struct err *err)
{
    *out = NULL;
    if (!of->ops->base)
        return train_backend_open(out, options, err);
    struct train_backend *base = new_train_backend(of->ops, of->context);
    int result = base->ops->base(&base->state, of->state, options, err);
    if (result < 0)
        train_backend_close(base);
    else
        *out = base;
    return result;
}

void train_backend_close(struct train_backend *backend)
{
    if (!backend)
        return;
    if (backend->state)
        backend->ops->close(backend->state);
    tokenizer_close(backend->tokenizer);
    pthread_cond_destroy(&backend->samples_changed);
    pthread_mutex_destroy(&backend->lock);
    mem_free(backend);
}

enum train_backend_kind train_backend_kind(const struct train_backend *backend)
{
    return backend->ops->kind;
}

bool train_backend_clips(const struct train_backend *backend)
{
    return !backend->ops->clips || backend->ops->clips(backend->state);
}

int train_backend_prompt(struct train_backend *backend, const json_t *messages, bool thinking,
                         struct tokens *prompt, struct err *err)
{
    const struct chat_options options = {.style = backend->style,
                                         .thinking = thinking,
                                         .answer = true};
    struct arena arena = {0};
    struct chat_message *list;
    size_t count;
    int result = chat_json_read(messages, &arena, &list, &count, err);
    if (result == 0)
        result = chat_encode(backend->tokenizer, list, count, &options, prompt, NULL, err);
    arena_deinit(&arena);
    return result;
}

static int decode_answer(const struct train_backend *backend, struct train_backend_answer *answer,
                         struct err *err)
{
    struct buf bytes;
    buf_init(&bytes, LIMIT_ANSWER_BYTES);
    int result = tokenizer_decode(backend->tokenizer, answer->tokens, answer->count, true, &bytes,
                                  err);
    if (result == 0)
        answer->text = utf8_mended(bytes.data, bytes.len, NULL);
    buf_deinit(&bytes);
    return result;
}

static uint64_t begin_sample(struct train_backend *backend)
{
    pthread_mutex_lock(&backend->lock);
    while (backend->refreshing)
        pthread_cond_wait(&backend->samples_changed, &backend->lock);
    backend->under_way++;
    uint64_t version = backend->version;
    pthread_mutex_unlock(&backend->lock);
    return version;
}

static void end_sample(struct train_backend *backend)
{
    pthread_mutex_lock(&backend->lock);
    if (--backend->under_way == 0)
        pthread_cond_broadcast(&backend->samples_changed);
    pthread_mutex_unlock(&backend->lock);
}

int train_backend_sample(struct train_backend *backend, const struct tokens *prompt,
                         const struct train_backend_sampling *sampling,
                         struct train_backend_answer *answer, struct err *err)
{
    struct train_backend_sampling wanted = *sampling;
    *answer = (struct train_backend_answer){0};
    if (prompt->count == 0)
        return err_set(err, ERR_INPUT, "a prompt needs a token");
    if (prompt->count >= backend->context)
        return err_set(err, ERR_LIMIT,
                       "the prompt's %zu tokens leave no room for an answer in a context of %zu",
                       prompt->count, backend->context);
    size_t left = backend->context - prompt->count;
    if (wanted.max_tokens == 0 || wanted.max_tokens > left)
        wanted.max_tokens = left;
    wanted.seed &= INT32_MAX; /* the range that all services take */
    answer->version = begin_sample(backend);
    int result = backend->ops->sample(backend->state, prompt, &wanted, answer, err);
    end_sample(backend);
    if (result == 0)
        result = decode_answer(backend, answer, err);
    if (result < 0)
        train_backend_answer_deinit(answer);
    return result;
}

void train_backend_answer_deinit(struct train_backend_answer *answer)
{
    mem_free(answer->tokens);
    mem_free(answer->logprobs);
    mem_free(answer->text);
    *answer = (struct train_backend_answer){0};
}

int train_backend_forward_backward(struct train_backend *backend, struct lm_datum *datums,
                                   size_t count, const struct loss *loss,
                                   const struct loss_config *config, struct loss_sums *sums,
                                   struct err *err)
{
    return backend->ops->pass(backend->state, datums, count, loss, config, true, sums, err);
}

int train_backend_forward(struct train_backend *backend, struct lm_datum *datums, size_t count,
                          const struct loss *loss, const struct loss_config *config,
                          struct loss_sums *sums, struct err *err)
{
    return backend->ops->pass(backend->state, datums, count, loss, config, false, sums, err);
}

int train_backend_step(struct train_backend *backend, const struct lm_adam *adam, double *norm,
                       struct err *err)
{
    *norm = 0;
    return backend->ops->step(backend->state, adam, norm, err);
}

uint64_t train_backend_steps(const struct train_backend *backend)
{
    return backend->ops->steps(backend->state);
}

int train_backend_refresh(struct train_backend *backend, uint64_t *version, struct err *err)
{
    pthread_mutex_lock(&backend->lock);
    backend->refreshing = true;
    while (backend->under_way > 0)
        pthread_cond_wait(&backend->samples_changed, &backend->lock);
    int result = backend->ops->refresh(backend->state, &backend->version, err);
    *version = backend->version;
    backend->refreshing = false;
    pthread_cond_broadcast(&backend->samples_changed);
    pthread_mutex_unlock(&backend->lock);
    return result;
}

int train_backend_save(struct train_backend *backend, const char *directory, const char *name,
                       char **where, struct err *err)
{
    *where = NULL;
    if (!name[0] || name[0] == '.' || strchr(name, '/'))
        return err_set(err, ERR_INPUT, "invalid checkpoint name '%.100s'", name);
    return backend->ops->save(backend->state, directory, name, where, err);
}

int train_backend_load(struct train_backend *backend, const char *directory, const char *where,
                       bool optimizer, uint64_t steps, struct err *err)
{
    return backend->ops->load(backend->state, directory, where, optimizer, steps, err);
}

int train_backend_forget(struct train_backend *backend, const char *directory, const char *where,
                         struct err *err)
{
    return backend->ops->forget(backend->state, directory, where, err);
}

int train_backend_export(struct train_backend *backend, const char *directory, struct err *err)
{
    return backend->ops->export(backend->state, directory, err);
}
