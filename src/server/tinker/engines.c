#include "server/tinker/engines.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "lm/model/model.h"
#include "server/tinker/tinker_settings.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <utlist.h>

struct tinker_engine {
    char *directory; /* of the adapter */
    struct lm_backend *backend;
    struct lm_model *model;
    struct lm_engine *engine;
    atomic_size_t users;
    int64_t used_ns; /* under the lock */
    struct tinker_engine *prev, *next;
};

struct tinker_engines {
    const struct tinker_service_options *options;
    struct tinker_engine base; /* the server's own engine */
    pthread_mutex_t lock;      /* all below; an engine is opened under it */
    struct tinker_engine *all;
    bool stopped;
};

struct tinker_engines *tinker_engines_new(const struct tinker_service_options *options)
{
    struct tinker_engines *engines = mem_alloc(sizeof *engines);
    engines->options = options;
    engines->base.engine = options->engine;
    pthread_mutex_init(&engines->lock, NULL);
    return engines;
}

static void engine_free(struct tinker_engine *engine)
{
    lm_engine_close(engine->engine);
    lm_model_close(engine->model);
    lm_backend_close(engine->backend);
    mem_free(engine->directory);
    mem_free(engine);
}

void tinker_engines_stop(struct tinker_engines *engines)
{
    struct tinker_engine *engine, *next;
    pthread_mutex_lock(&engines->lock);
    engines->stopped = true;
    DL_FOREACH_SAFE (engines->all, engine, next) {
        DL_DELETE(engines->all, engine);
        engine_free(engine);
    }
    pthread_mutex_unlock(&engines->lock);
}

void tinker_engines_free(struct tinker_engines *engines)
{
    if (!engines)
        return;
    tinker_engines_stop(engines);
    pthread_mutex_destroy(&engines->lock);
    mem_free(engines);
}

static int open_model(struct tinker_engine *engine, const struct tinker_service_options *options,
                      struct err *err)
{
    struct lm_model_options model = {.training = LM_FROZEN};
    int result = lm_adapter_read(&model.lora, engine->directory, err);
    if (result == 0)
        result = lm_backend_open(&engine->backend, options->backend, options->threads, err);
    if (result < 0)
        return result;
    engine->backend->invariant = true;
    result = lm_model_attach(&engine->model, options->base, engine->backend, &model, err);
    return result < 0 ? result : lm_model_load_adapter(engine->model, engine->directory, err);
}

static int engine_new(struct tinker_engine **out, const struct tinker_service_options *options,
                      const char *directory, struct err *err)
{
    struct tinker_engine *engine = mem_alloc(sizeof *engine);
    engine->directory = mem_strdup(directory);
    int result = file_is_directory(directory)
                     ? open_model(engine, options, err)
                     : err_set(err, ERR_MISSING,
                               "the sampler's weights were deleted: of those without a name, a run "
                               "keeps the latest %" PRId64 " (tinker.unnamed)",
                               tinker_settings(options->settings)->unnamed);
    if (result == 0)
        result = lm_engine_open(&engine->engine, engine->model, &options->sampler, err);
    if (result < 0)
        engine_free(engine);
    else
        *out = engine;
    return result;
}

/* With the lock: one that is not in use makes space, the least recently used one. */
static bool make_space(struct tinker_engines *engines, int64_t most)
{
    struct tinker_engine *engine, *old = NULL;
    int64_t count = 0;
    DL_FOREACH (engines->all, engine) {
        count++;
        if (atomic_load(&engine->users) == 0 && (!old || engine->used_ns < old->used_ns))
            old = engine;
    }
    if (count < most)
        return true;
    if (!old)
        return false;
    DL_DELETE(engines->all, old);
    engine_free(old);
    return true;
}

int tinker_engine_take(struct tinker_engines *engines, const char *directory,
                       struct tinker_engine **out, struct err *err)
{
    const int64_t most = tinker_settings(engines->options->settings)->max_samplers;
    struct tinker_engine *engine;
    int result = 0;
    *out = &engines->base;
    if (!directory) {
        atomic_fetch_add(&engines->base.users, 1);
        return 0;
    }
    pthread_mutex_lock(&engines->lock);
    DL_FOREACH (engines->all, engine)
        if (strcmp(engine->directory, directory) == 0)
            break;
    if (engines->stopped)
        result = err_set(err, ERR_CANCELLED, "the server is stopping");
    else if (!engine && !make_space(engines, most))
        result = err_set(err, ERR_LIMIT,
                         "%" PRId64
                         " sets of weights sample, as many as tinker.max_samplers allows",
                         most);
    if (!engine && result == 0) {
        result = engine_new(&engine, engines->options, directory, err);
        if (result == 0)
            DL_APPEND(engines->all, engine);
    }
    if (result == 0) {
        atomic_fetch_add(&engine->users, 1);
        engine->used_ns = clock_now_ns();
        *out = engine;
    }
    pthread_mutex_unlock(&engines->lock);
    return result;
}

struct lm_engine *tinker_engine_of(const struct tinker_engine *engine)
{
    return engine->engine;
}

void tinker_engine_return(struct tinker_engine *engine)
{
    atomic_fetch_sub(&engine->users, 1);
}
