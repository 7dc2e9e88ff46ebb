/* lm serve: `warpgym lm serve`: a model behind OpenAI's API. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/lm/lm.h"
#include "lm/sample/engine.h"
#include "server/lm/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STANDARD_LISTEN "127.0.0.1:8000" /* another port than `warpgym serve` */
#define STOP_MS 10000
#define STEP_ROWS 256 /* beside those of the running sequences */
#define PAGE 16
#define CACHE_BYTES ((uint64_t)1 << 30) /* default */

struct arguments {
    struct lm_where where;
    const char *listen, *name, *tinker;
    int64_t sequences, cache_tokens, queue, drain_s;
};

/* In the order in which they are opened. */
struct serve_context {
    struct lm_context lm;
    struct lm_engine *engine;
    struct lm_embedder *embedder;
    struct tinker_service *tinker;
    struct lm_api *api;
    size_t positions; /* of the longest sequence that fits both model and cache */
};

/* As many positions as the sequences may use, within a bound of memory; whole pages. */
static size_t cache_tokens(const struct arguments *arguments, const struct lm_model *model)
{
    const uint64_t bytes = lm_cache_position_bytes(&model->config, model->backend->dtype);
    const uint64_t all = (uint64_t)arguments->sequences * model->positions;
    uint64_t tokens = CACHE_BYTES / bytes;
    tokens = tokens < all ? tokens : all;
    if (arguments->cache_tokens > 0)
        tokens = (uint64_t)arguments->cache_tokens;
    return (size_t)(tokens + PAGE - 1) / PAGE * PAGE;
}

static struct lm_sampler_options sampler_options(const struct arguments *arguments,
                                                 const struct lm_model *model)
{
    return (struct lm_sampler_options){
        .sequences = (size_t)arguments->sequences,
        .rows = (size_t)arguments->sequences + STEP_ROWS,
        .page = PAGE,
        .cache_tokens = cache_tokens(arguments, model),
    };
}

static int open_engine(const struct arguments *arguments, struct serve_context *serve,
                       struct err *err)
{
    int result = lm_context_open(&serve->lm, &arguments->where, true, err);
    if (result < 0)
        return result;
    serve->positions = serve->lm.model->positions;
    const struct lm_sampler_options sampler = sampler_options(arguments, serve->lm.model);
    if (sampler.cache_tokens < serve->positions)
        serve->positions = sampler.cache_tokens;
    return lm_engine_open(&serve->engine, serve->lm.model, &sampler, err);
}

static int open_embedder(const struct arguments *arguments, struct serve_context *serve,
                         struct err *err)
{
    const struct lm_embedder_options options = {
        .model = serve->lm.model,
        .tokenizer = serve->lm.tokenizer,
        .directory = arguments->where.directory,
        .backend = arguments->where.backend, /* beside the engine's thread */
        .threads = (size_t)arguments->where.threads,
    };
    return lm_embedder_open(&serve->embedder, &options, err);
}

/* The model's name; by default the directory's. */
static char *name_of(const struct arguments *arguments)
{
    char *name = mem_strdup(arguments->name ? arguments->name : arguments->where.directory);
    if (arguments->name)
        return name;
    for (size_t count = strlen(name); count > 1 && name[count - 1] == '/'; count--)
        name[count - 1] = '\0';
    char *last = mem_strdup(name[1] ? file_basename(name) : name);
    mem_free(name);
    return last;
}

/* Under an absolute path the SDK of this machine finds the tokenizer by itself. */
static int open_tinker(const struct arguments *arguments, const struct settings *settings,
                       const char *name, struct serve_context *serve, struct err *err)
{
    char *tokenizer = arguments->name ? NULL : realpath(arguments->where.directory, NULL);
    const struct tinker_service_options options = {
        .settings = settings,
        .directory = arguments->tinker,
        .model = name,
        .tokenizer_id = tokenizer,
        .base = serve->lm.model,
        .engine = serve->engine,
        .tokenizer = serve->lm.tokenizer,
        .backend = arguments->where.backend,
        .threads = (size_t)arguments->where.threads,
        .sampler = sampler_options(arguments, serve->lm.model),
        .positions = serve->positions,
        .samples_max = (size_t)arguments->queue,
    };
    int result = 0;
    if (arguments->where.adapter)
        result = err_set(err, ERR_INPUT,
                         "--tinker trains adapters on the model itself: leave --adapter out");
    if (result == 0)
        result = tinker_service_open(&serve->tinker, &options, err);
    free(tokenizer);
    return result;
}

static int open_api(const struct arguments *arguments, const struct settings *settings,
                    struct serve_context *serve, struct err *err)
{
    struct lm_api_options options = {.settings = settings,
                                     .engine = serve->engine,
                                     .embedder = serve->embedder,
                                     .tokenizer = serve->lm.tokenizer,
                                     .positions = serve->positions,
                                     .choices_max = (size_t)arguments->queue};
    int result = chat_style_of(arguments->where.directory, &options.style, err);
    if (result < 0)
        return result;
    char *name = name_of(arguments);
    options.model = name;
    if (arguments->tinker)
        result = open_tinker(arguments, settings, name, serve, err);
    options.tinker = serve->tinker;
    if (result == 0)
        result = lm_api_open(&serve->api, &options, err);
    if (result == 0) {
        const char *address = lm_api_address(serve->api);
        printf("warpgym: serving %s at %s\n", name, address);
        if (serve->tinker)
            printf("warpgym: TINKER_BASE_URL=%.*s, checkpoints in %s\n",
                   (int)(strlen(address) - strlen("/v1")), address, arguments->tinker);
        fflush(stdout);
    }
    mem_free(name);
    return result;
}

static void serve_stop(const struct arguments *arguments, struct serve_context *serve)
{
    struct err err;
    if (serve->api) {
        log_event(LOG_LEVEL_INFO, "lm", "stopping", NULL);
        lm_api_drain(serve->api, arguments->drain_s * 1000, NULL);
    }
    if (serve->tinker)
        tinker_service_stop(serve->tinker);
    if (serve->api && lm_api_stop(serve->api, STOP_MS, &err) < 0) {
        /* A request hangs: nothing can be freed. */
        log_event(LOG_LEVEL_ERROR, "lm", "stopped in the middle of a request", "why", err.text,
                  NULL);
        _Exit(EXIT_INFRASTRUCTURE);
    }
    lm_engine_close(serve->engine);
    lm_api_free(serve->api);
    tinker_service_free(serve->tinker);
    lm_embedder_close(serve->embedder);
    lm_context_close(&serve->lm);
}

static int lm_serve_run(struct cli_call *call, void *context, struct err *err)
{
    struct arguments *arguments = context;
    struct serve_context serve = {0};
    arguments->where.directory = call->words.items[0];
    cli_begin_service(&call->settings);
    int result = open_engine(arguments, &serve, err);
    if (result == 0)
        result = open_embedder(arguments, &serve, err);
    if (result == 0)
        result = open_api(arguments, &call->settings, &serve, err);
    if (result == 0)
        cli_wait_for_signal();
    serve_stop(arguments, &serve);
    return result;
}

int lm_serve_main(struct cli_call *call)
{
    struct arguments arguments = {.where = LM_WHERE_DEFAULTS,
                                  .sequences = 16,
                                  .queue = 512,
                                  .drain_s = 60};
    const struct cli_option options[] = {
        OPTION_SETTING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                       "where to serve (" STANDARD_LISTEN "); port 0: a free one",
                       .setting = "server.listen", .standard = STANDARD_LISTEN),
        OPTION_STRING(0, "name", &arguments.name, "NAME",
                      "the model's name for clients (default: the directory's)"),
        OPTION_STRING(0, "tinker", &arguments.tinker, "DIR",
                      "speak the Tinker API, too; checkpoints in DIR"),
        OPTION_GROUP("Resources"),
        OPTION_INT(0, "sequences", &arguments.sequences, 1, LIMIT_LM_SAMPLES, "N",
                   "answers generated at the same time (16)"),
        OPTION_INT(0, "cache-tokens", &arguments.cache_tokens, 0, LIMIT_LM_CACHE_POSITIONS, "N",
                   "positions in their cache (what fits 1 GiB)"),
        OPTION_INT(0, "queue", &arguments.queue, 1, 1 << 20, "N",
                   "answers in progress or waiting; more are refused with 429 (512)"),
        OPTION_INT(0, "drain", &arguments.drain_s, 0, 86400, "SECONDS",
                   "how long answers may continue after SIGTERM (60)"),
        LM_WHERE_OPTIONS(&arguments.where),
        OPTION_GROUP("Settings"),
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, lm_serve_run, &arguments);
}
