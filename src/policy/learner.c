#include "policy/learner.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/tokenizer/chat.h"
#include "policy/learner_maker.h"

#include <pthread.h>
#include <string.h>

static const struct learner_maker *const makers[] = {&learner_engine, &learner_tinker, NULL};

struct learner {
    const struct learner_maker *maker;
    void *state;
    struct tokenizer *tokenizer;
    enum chat_style style;
    size_t context;

    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t moved;
    size_t under_way; /* samples, all of one version */
    bool refreshing;  /* new ones wait */
    uint64_t version;
};

/* -------------------------------------------------------------------------------------- opening */

static const struct learner_maker *maker_of(const char *kind)
{
    for (const struct learner_maker *const *maker = makers; *maker; maker++)
        if (strcmp((*maker)->kind, kind) == 0)
            return *maker;
    return NULL;
}

static int open_tokenizer(struct learner *learner, const char *directory, struct err *err)
{
    int result = tokenizer_open(&learner->tokenizer, directory, err);
    if (result == 0)
        result = chat_style_of(directory, &learner->style, err);
    return result;
}

/* What ends an answer in the families of chat.h. */
static int find_stops(const struct learner *learner, struct tokens *stops, struct err *err)
{
    static const char end_of_text[] = "<|endoftext|>";
    const int32_t ids[] = {chat_end_token(learner->tokenizer),
                           tokenizer_id(learner->tokenizer, end_of_text)};
    int result = 0;
    for (size_t i = 0; i < COUNT(ids) && result == 0; i++)
        if (ids[i] >= 0)
            result = tokens_add(stops, ids[i], err);
    return result;
}

static struct learner *new_learner(const struct learner_maker *maker, size_t context)
{
    struct learner *learner = mem_alloc(sizeof *learner);
    learner->maker = maker;
    learner->context = context;
    pthread_mutex_init(&learner->lock, NULL);
    pthread_cond_init(&learner->moved, NULL);
    return learner;
}

int learner_open(struct learner **out, const struct learner_options *options, struct err *err)
{
    const struct learner_maker *maker = maker_of(options->kind);
    const char *tokenizer = options->tokenizer && options->tokenizer[0] ? options->tokenizer
                                                                        : options->model;
    *out = NULL;
    if (!maker)
        return err_set(err, ERR_INPUT, "'%.100s' is no kind of learner: there are %s and %s",
                       options->kind, learner_engine.kind, learner_tinker.kind);
    if (!options->model || !options->model[0])
        return err_set(err, ERR_INPUT, "name a model to train");
    struct learner *learner = new_learner(maker, options->context);
    struct tokens stops = {0};
    int result = open_tokenizer(learner, tokenizer, err);
    if (result == 0)
        result = find_stops(learner, &stops, err);
    if (result == 0)
        result = maker->open(&learner->state, options, &stops, &learner->context, err);
    tokens_deinit(&stops);
    if (result < 0) {
        learner_close(learner);
        return result;
    }
    *out = learner;
    return 0;
}

int learner_open_base(struct learner **out, const struct learner *of,
                      const struct learner_options *options, struct err *err)
{
    *out = NULL;
    if (!of->maker->base)
        return learner_open(out, options, err);
    struct learner *base = new_learner(of->maker, of->context);
    int result = base->maker->base(&base->state, of->state, options, err);
    if (result < 0)
        learner_close(base);
    else
        *out = base;
    return result;
}

void learner_close(struct learner *learner)
{
    if (!learner)
        return;
    if (learner->state)
        learner->maker->close(learner->state);
    tokenizer_close(learner->tokenizer);
    pthread_cond_destroy(&learner->moved);
    pthread_mutex_destroy(&learner->lock);
    mem_free(learner);
}

const char *learner_kind(const struct learner *learner)
{
    return learner->maker->kind;
}

/* -------------------------------------------------------------------------------------- prompts */

static const char *const roles[] = {"system", "user", "assistant", "tool"};

static int read_message(const json_t *from, struct chat_message *message, struct err *err)
{
    int result = json_is_object(from) ? 0 : err_set(err, ERR_INPUT, "it is no object");
    if (result == 0)
        result = json_get_string(from, "role", &message->role, err);
    if (result == 0)
        result = json_get_string(from, "content", &message->content, err);
    for (size_t i = 0; result == 0 && i < COUNT(roles); i++)
        if (strcmp(message->role, roles[i]) == 0)
            return 0;
    if (result == 0)
        result = err_set(err, ERR_INPUT, "'%.100s' is no role", message->role);
    return result;
}

int learner_prompt(struct learner *learner, const json_t *messages, bool thinking,
                   struct tokens *prompt, struct err *err)
{
    const struct chat_options options = {.style = learner->style,
                                         .thinking = thinking,
                                         .answer = true};
    size_t count = json_array_size(messages);
    struct chat_message *list = mem_alloc((count + 1) * sizeof *list);
    int result = count > 0 ? 0 : err_set(err, ERR_INPUT, "a prompt needs a message");
    for (size_t i = 0; i < count && result == 0; i++) {
        result = read_message(json_array_get(messages, i), &list[i], err);
        if (result < 0)
            err_prefix(err, "message %zu", i + 1);
    }
    if (result == 0)
        result = chat_encode(learner->tokenizer, list, count, &options, prompt, NULL, err);
    mem_free(list);
    return result;
}

/* -------------------------------------------------------------------------------------- answers */

static int add_text(const struct learner *learner, struct learner_answer *answer, struct err *err)
{
    struct buf text;
    buf_init(&text, LIMIT_ANSWER_BYTES);
    int result = tokenizer_decode(learner->tokenizer, answer->tokens, answer->count, true, &text,
                                  err);
    if (result == 0)
        answer->text = buf_take(&text);
    buf_deinit(&text);
    return result;
}

static uint64_t enter(struct learner *learner)
{
    pthread_mutex_lock(&learner->lock);
    while (learner->refreshing)
        pthread_cond_wait(&learner->moved, &learner->lock);
    learner->under_way++;
    uint64_t version = learner->version;
    pthread_mutex_unlock(&learner->lock);
    return version;
}

static void leave(struct learner *learner)
{
    pthread_mutex_lock(&learner->lock);
    if (--learner->under_way == 0)
        pthread_cond_broadcast(&learner->moved);
    pthread_mutex_unlock(&learner->lock);
}

int learner_sample(struct learner *learner, const struct tokens *prompt,
                   const struct learner_sampling *sampling, struct learner_answer *answer,
                   struct err *err)
{
    struct learner_sampling wanted = *sampling;
    *answer = (struct learner_answer){0};
    if (prompt->count == 0)
        return err_set(err, ERR_INPUT, "a prompt needs a token");
    if (prompt->count >= learner->context)
        return err_set(err, ERR_LIMIT,
                       "the prompt's %zu tokens leave no room for an answer in a context of %zu",
                       prompt->count, learner->context);
    size_t left = learner->context - prompt->count;
    if (wanted.max_tokens == 0 || wanted.max_tokens > left)
        wanted.max_tokens = left;
    wanted.seed &= INT32_MAX; /* as much as all services take */
    answer->version = enter(learner);
    int result = learner->maker->sample(learner->state, prompt, &wanted, answer, err);
    leave(learner);
    if (result == 0)
        result = add_text(learner, answer, err);
    if (result < 0)
        learner_answer_deinit(answer);
    return result;
}

void learner_answer_deinit(struct learner_answer *answer)
{
    mem_free(answer->tokens);
    mem_free(answer->logprobs);
    mem_free(answer->text);
    *answer = (struct learner_answer){0};
}

/* ------------------------------------------------------------------------------------- training */

int learner_forward_backward(struct learner *learner, struct lm_datum *datums, size_t count,
                             const struct loss *loss, const struct loss_config *config,
                             struct loss_sums *sums, struct err *err)
{
    return learner->maker->pass(learner->state, datums, count, loss, config, true, sums, err);
}

int learner_forward(struct learner *learner, struct lm_datum *datums, size_t count,
                    const struct loss *loss, const struct loss_config *config,
                    struct loss_sums *sums, struct err *err)
{
    return learner->maker->pass(learner->state, datums, count, loss, config, false, sums, err);
}

int learner_step(struct learner *learner, const struct lm_adam *adam, double *norm, struct err *err)
{
    *norm = 0;
    return learner->maker->step(learner->state, adam, norm, err);
}

uint64_t learner_steps(const struct learner *learner)
{
    return learner->maker->steps(learner->state);
}

int learner_refresh(struct learner *learner, uint64_t *version, struct err *err)
{
    pthread_mutex_lock(&learner->lock);
    learner->refreshing = true;
    while (learner->under_way > 0)
        pthread_cond_wait(&learner->moved, &learner->lock);
    int result = learner->maker->refresh(learner->state, &learner->version, err);
    *version = learner->version;
    learner->refreshing = false;
    pthread_cond_broadcast(&learner->moved);
    pthread_mutex_unlock(&learner->lock);
    return result;
}

/* ---------------------------------------------------------------------------------- checkpoints */

int learner_save(struct learner *learner, const char *directory, const char *name, char **where,
                 struct err *err)
{
    *where = NULL;
    if (!name[0] || name[0] == '.' || strchr(name, '/'))
        return err_set(err, ERR_INPUT, "'%.100s' is no name for a checkpoint", name);
    return learner->maker->save(learner->state, directory, name, where, err);
}

int learner_load(struct learner *learner, const char *directory, const char *where, bool optimizer,
                 uint64_t steps, struct err *err)
{
    return learner->maker->load(learner->state, directory, where, optimizer, steps, err);
}

int learner_forget(struct learner *learner, const char *directory, const char *where,
                   struct err *err)
{
    return learner->maker->forget(learner->state, directory, where, err);
}

int learner_export(struct learner *learner, const char *directory, struct err *err)
{
    return learner->maker->export(learner->state, directory, err);
}
