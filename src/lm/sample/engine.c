#include "lm/sample/engine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "lm/sample/sampler_internal.h"

#include <pthread.h>
#include <string.h>

#include <utlist.h>

#define LOOK_MS 50 /* poll interval for a stop flag, which sends no signal */

/* Lives on the caller's stack. */
struct change {
    int (*run)(void *context, struct err *err);
    void *context;
    struct err *err;
    int result;
    bool done;
    struct change *prev, *next;
};

struct cancel {
    uint64_t id;
    struct cancel *prev, *next;
};

struct lm_engine {
    struct lm_sampler *sampler; /* the thread's */
    pthread_t thread;

    pthread_mutex_t lock; /* all below */
    pthread_cond_t some;  /* something came in */
    pthread_cond_t changed;
    struct group *submitted; /* in order; the sampler has not seen them */
    struct cancel *cancels;
    struct change *changes;
    uint64_t last_id;
    bool quit;
    struct lm_sampler_stats stats;
    struct err failure; /* of the last step that went wrong; code 0: none did */
};

static struct group *find_submitted(const struct lm_engine *engine, uint64_t id)
{
    struct group *group;
    DL_FOREACH (engine->submitted, group)
        if (group->id == id)
            return group;
    return NULL;
}

/* Requests wait for a pending change of weights; cancelled ones end at once. */
static void take_mail(struct lm_engine *engine)
{
    struct group *group, *next;
    struct cancel *cancel, *next_cancel;
    DL_FOREACH_SAFE (engine->cancels, cancel, next_cancel) {
        group = find_submitted(engine, cancel->id);
        if (group)
            group->cancelled = true;
        else
            lm_sampler_cancel(engine->sampler, cancel->id);
        mem_free(cancel);
    }
    engine->cancels = NULL;
    DL_FOREACH_SAFE (engine->submitted, group, next) {
        group->cancelled |= engine->quit;
        if (engine->changes && !group->cancelled)
            continue;
        DL_DELETE(engine->submitted, group);
        sampler_add(engine->sampler, group);
    }
}

/* With the lock held, which is given up meanwhile. */
static void run_change(struct lm_engine *engine)
{
    struct change *change = engine->changes;
    DL_DELETE(engine->changes, change);
    if (engine->quit) {
        change->result = err_set(change->err, ERR_CANCELLED, "the engine is being closed");
    } else {
        pthread_mutex_unlock(&engine->lock);
        change->result = change->run(change->context, change->err);
        struct err err;
        int result = lm_sampler_reset_cache(engine->sampler, &err);
        if (change->result == 0 && result < 0)
            change->result = err_set(change->err, result, "%s", err.text);
        pthread_mutex_lock(&engine->lock);
    }
    change->done = true;
    pthread_cond_broadcast(&engine->changed);
}

static void *drive(void *argument)
{
    struct lm_engine *engine = argument;
    bool busy = false;
    pthread_mutex_lock(&engine->lock);
    for (;;) {
        while (!busy && !engine->submitted && !engine->cancels && !engine->changes && !engine->quit)
            pthread_cond_wait(&engine->some, &engine->lock);
        const bool last = engine->quit;
        take_mail(engine);
        if (last)
            sampler_cancel_all(engine->sampler);
        pthread_mutex_unlock(&engine->lock);
        struct err err = {0};
        int result = lm_sampler_step(engine->sampler, &busy, &err);
        pthread_mutex_lock(&engine->lock);
        engine->stats = lm_sampler_stats(engine->sampler);
        if (result < 0)
            engine->failure = err;
        if (!busy && engine->changes)
            run_change(engine);
        if (last && !busy && !engine->submitted && !engine->changes)
            break;
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static void engine_free(struct lm_engine *engine)
{
    struct cancel *cancel, *next;
    DL_FOREACH_SAFE (engine->cancels, cancel, next)
        mem_free(cancel);
    pthread_mutex_destroy(&engine->lock);
    pthread_cond_destroy(&engine->some);
    pthread_cond_destroy(&engine->changed);
    lm_sampler_close(engine->sampler);
    mem_free(engine);
}

int lm_engine_open(struct lm_engine **out, struct lm_model *model,
                   const struct lm_sampler_options *options, struct err *err)
{
    struct lm_sampler *sampler = NULL;
    int result = lm_sampler_open(&sampler, model, options, err);
    if (result < 0)
        return result;
    struct lm_engine *engine = mem_alloc(sizeof *engine);
    engine->sampler = sampler;
    engine->stats = lm_sampler_stats(sampler);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->some, NULL);
    pthread_cond_init(&engine->changed, NULL);
    int error = pthread_create(&engine->thread, NULL, drive, engine);
    if (error != 0) {
        engine_free(engine);
        return err_sys(err, error, "cannot start the sampler's thread");
    }
    *out = engine;
    return 0;
}

void lm_engine_close(struct lm_engine *engine)
{
    if (!engine)
        return;
    pthread_mutex_lock(&engine->lock);
    engine->quit = true;
    pthread_cond_signal(&engine->some);
    pthread_mutex_unlock(&engine->lock);
    pthread_join(engine->thread, NULL);
    engine_free(engine);
}

int lm_engine_submit(struct lm_engine *engine, const struct lm_request *request, uint64_t *id,
                     struct err *err)
{
    struct group *group = NULL;
    int result = group_new(&group, request, sampler_bounds(engine->sampler), err);
    if (result < 0)
        return result;
    pthread_mutex_lock(&engine->lock);
    *id = group->id = ++engine->last_id;
    DL_APPEND(engine->submitted, group);
    pthread_cond_signal(&engine->some);
    pthread_mutex_unlock(&engine->lock);
    return 0;
}

void lm_engine_cancel(struct lm_engine *engine, uint64_t id)
{
    struct cancel *cancel = mem_alloc(sizeof *cancel);
    cancel->id = id;
    pthread_mutex_lock(&engine->lock);
    DL_APPEND(engine->cancels, cancel);
    pthread_cond_signal(&engine->some);
    pthread_mutex_unlock(&engine->lock);
}

int lm_engine_change(struct lm_engine *engine, int (*run)(void *context, struct err *),
                     void *context, struct err *err)
{
    struct change change = {.run = run, .context = context, .err = err};
    pthread_mutex_lock(&engine->lock);
    DL_APPEND(engine->changes, &change);
    pthread_cond_signal(&engine->some);
    while (!change.done)
        pthread_cond_wait(&engine->changed, &engine->lock);
    pthread_mutex_unlock(&engine->lock);
    return change.result;
}

struct lm_sampler_stats lm_engine_stats(struct lm_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    struct lm_sampler_stats stats = engine->stats;
    const struct group *group;
    DL_FOREACH (engine->submitted, group) {
        stats.requests++;
        stats.waiting += group->count;
    }
    pthread_mutex_unlock(&engine->lock);
    return stats;
}

struct wait {
    const struct lm_request *request;
    struct lm_sample *samples;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t left; /* under the lock, as the samples are */
    bool failed;
};

static void on_sample_event(void *context, size_t index, const struct lm_sample *sample)
{
    struct wait *wait = context;
    const size_t top = wait->request->sampling.top_logprobs;
    if (sample->finish == LM_RUNNING)
        return;
    pthread_mutex_lock(&wait->lock);
    struct lm_sample *out = &wait->samples[index];
    *out = *sample;
    out->tokens = mem_copy(sample->tokens, sample->count * sizeof *sample->tokens);
    out->logprobs = mem_copy(sample->logprobs, sample->count * sizeof *sample->logprobs);
    out->top = top > 0 ? mem_copy(sample->top, sample->count * top * sizeof *sample->top) : NULL;
    wait->failed |= sample->finish == LM_FAILED;
    wait->left--;
    pthread_cond_signal(&wait->ended);
    pthread_mutex_unlock(&wait->lock);
}

static void on_scored(void *context, const float *logprobs, const struct lm_top *top)
{
    const struct wait *wait = context;
    if (wait->request->scored)
        wait->request->scored(wait->request->context, logprobs, top);
}

/* True: it was stopped. */
static bool wait_for_all(struct lm_engine *engine, struct wait *wait, uint64_t id,
                         const _Atomic int *stop)
{
    bool stopped = false;
    pthread_mutex_lock(&wait->lock);
    while (wait->left > 0) {
        if (!stopped && stop && *stop) {
            stopped = true;
            lm_engine_cancel(engine, id);
        }
        if (!stop || stopped) {
            pthread_cond_wait(&wait->ended, &wait->lock);
            continue;
        }
        struct timespec until = clock_in_ms(LOOK_MS);
        pthread_cond_timedwait(&wait->ended, &wait->lock, &until);
    }
    pthread_mutex_unlock(&wait->lock);
    return stopped;
}

static int failure(struct lm_engine *engine, struct err *err)
{
    pthread_mutex_lock(&engine->lock);
    const struct err why = engine->failure;
    pthread_mutex_unlock(&engine->lock);
    if (why.code != 0)
        return err_set(err, why.code, "%s", why.text);
    return err_set(err, ERR_INPUT,
                   "the model gives no finite numbers for this prompt: its weights hold NaN or "
                   "infinity, or its sums overflow");
}

int lm_engine_run(struct lm_engine *engine, const struct lm_request *request,
                  struct lm_sample *samples, const _Atomic int *stop, struct err *err)
{
    struct wait wait = {.request = request, .samples = samples, .left = request->samples};
    struct lm_request own = *request;
    uint64_t id;
    memset(samples, 0, request->samples * sizeof *samples);
    own.on_event = on_sample_event;
    own.scored = on_scored;
    own.context = &wait;
    pthread_mutex_init(&wait.lock, NULL);
    pthread_cond_init(&wait.ended, NULL);
    int result = lm_engine_submit(engine, &own, &id, err);
    if (result == 0) {
        if (wait_for_all(engine, &wait, id, stop))
            result = err_set(err, ERR_CANCELLED, "sampling was stopped");
        else if (wait.failed)
            result = failure(engine, err);
    }
    pthread_mutex_destroy(&wait.lock);
    pthread_cond_destroy(&wait.ended);
    return result;
}

void lm_sample_deinit(struct lm_sample *sample)
{
    mem_free(sample->tokens);
    mem_free(sample->logprobs);
    mem_free(sample->top);
    *sample = (struct lm_sample){0};
}
