/* tinker: a model that a Tinker service, or SkyRL's server, trains and samples from. */
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "policy/tinker_train.h"
#include "policy/tinker_wire.h"
#include "policy/train_backend_ops.h"

#include <stdlib.h>
#include <string.h>

struct tinker {
    struct tinker_model model;
    struct tinker_sampler sampler;
};

static struct tinker *locked(void *state)
{
    struct tinker *tinker = state;
    pthread_mutex_lock(&tinker->model.lock);
    return tinker;
}

/* ERR_MISSING means a missing file to the caller; a lost future is an I/O error. */
static int lost_as_io_error(int code, struct err *err)
{
    if (code != ERR_MISSING)
        return code;
    if (err)
        err->code = ERR_IO;
    return ERR_IO;
}

/* Ends what `locked` began, with what came of it. */
static int unlocked(struct tinker *tinker, int code, struct err *err)
{
    pthread_mutex_unlock(&tinker->model.lock);
    return lost_as_io_error(code, err);
}

static void tinker_close(void *state)
{
    struct tinker *tinker = state;
    tinker_sampler_deinit(&tinker->sampler); /* it asks over the model's link */
    tinker_model_deinit(&tinker->model);
    mem_free(tinker);
}

static int check_options(const struct train_backend_options *options, const char *url,
                         struct err *err)
{
    if (!url || !url[0])
        return err_set(err, ERR_INPUT,
                       "train.url is empty: set it or TINKER_BASE_URL to the address of a Tinker "
                       "server");
    if (options->lora_rank == 0)
        return err_set(err, ERR_INPUT,
                       "a Tinker server trains adapters only: set a rank (32, say), or train all "
                       "parameters with the engine");
    return 0;
}

/* A server on this machine may be given its model as a directory: whether that has the tokenizer
 * that the run has. */
static int check_tokenizer(const struct train_backend_options *options, struct err *err)
{
    const char *of[] = {options->model, options->tokenizer};
    char *bytes[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    int result = 0;
    bool found = of[1] != NULL;
    for (size_t i = 0; i < 2 && found; i++) {
        char *path = mem_printf("%s/tokenizer.json", of[i]);
        found = file_read(path, LIMIT_TOKENIZER_BYTES, &bytes[i], &counts[i], NULL) == 0;
        mem_free(path);
    }
    if (found && (counts[0] != counts[1] || memcmp(bytes[0], bytes[1], counts[0]) != 0))
        result = err_set(err, ERR_INPUT,
                         "the tokenizer in %.200s is not that of the model in %.200s: the server "
                         "would get other tokens than those that were meant; name the model's own",
                         of[1], of[0]);
    mem_free(bytes[0]);
    mem_free(bytes[1]);
    return result;
}

static int resolve_context(const struct tinker_model *model, size_t *context, struct err *err)
{
    const size_t most = model->session.context;
    if (*context == 0)
        *context = most;
    if (*context == 0)
        return err_set(err, ERR_INPUT,
                       "the server does not report the context of '%.200s': set one", model->base);
    if (most > 0 && *context > most)
        return err_set(err, ERR_INPUT,
                       "a context of %zu tokens is too long; '%.200s' has %zu on this server",
                       *context, model->base, most);
    return 0;
}

static int tinker_open(void **state, const struct train_backend_options *options,
                       const struct tokens *stops, size_t *context, struct err *err)
{
    const char *url = options->url && options->url[0] ? options->url : getenv("TINKER_BASE_URL");
    int result = check_options(options, url, err);
    if (result == 0)
        result = check_tokenizer(options, err);
    if (result < 0)
        return result;
    struct tinker *tinker = mem_alloc(sizeof *tinker);
    tinker_sampler_init(&tinker->sampler, &tinker->model, stops);
    result = tinker_model_init(&tinker->model, options, url, err);
    if (result == 0)
        result = resolve_context(&tinker->model, context, err);
    if (result < 0) {
        tinker_close(tinker);
        return result;
    }
    *state = tinker;
    return 0;
}

static int tinker_sample(void *state, const struct tokens *prompt,
                         const struct train_backend_sampling *sampling,
                         struct train_backend_answer *answer, struct err *err)
{
    struct tinker *tinker = state;
    return lost_as_io_error(tinker_sampler_sample(&tinker->sampler, prompt, sampling, answer, err),
                            err);
}

static int tinker_pass(void *state, struct lm_datum *datums, size_t count, const struct loss *loss,
                       const struct loss_config *config, bool gradients, struct loss_sums *sums,
                       struct err *err)
{
    struct tinker_pass pass = {.loss = loss,
                               .config = config ? *config : loss_config_defaults,
                               .gradients = gradients};
    *sums = (struct loss_sums){0};
    int result = tinker_check_pass(loss, &pass.config, datums, count, err);
    if (result < 0)
        return result;
    struct tinker *tinker = locked(state);
    return unlocked(tinker, tinker_train_pass(&tinker->model, &pass, datums, count, sums, err),
                    err);
}

static int tinker_step(void *state, const struct lm_adam *adam, double *norm, struct err *err)
{
    struct tinker *tinker = locked(state);
    return unlocked(tinker, tinker_train_step(&tinker->model, adam, norm, err), err);
}

static bool tinker_clips(const void *state)
{
    const struct tinker *tinker = state;
    return tinker->model.server.clips;
}

static uint64_t tinker_steps(void *state)
{
    struct tinker *tinker = locked(state);
    uint64_t steps = tinker->model.steps;
    pthread_mutex_unlock(&tinker->model.lock);
    return steps;
}

static int tinker_refresh(void *state, uint64_t *version, struct err *err)
{
    struct tinker *tinker = locked(state);
    int result = tinker_sampler_freeze(&tinker->sampler, err);
    if (result == 0)
        *version = tinker->model.steps;
    return unlocked(tinker, result, err);
}

static int tinker_save(void *state, const char *directory, const char *name, char **where,
                       struct err *err)
{
    struct tinker *tinker = locked(state);
    return unlocked(tinker, tinker_checkpoint_save(&tinker->model, name, where, err), err);
}

static int tinker_load(void *state, const char *directory, const char *where, bool optimizer,
                       uint64_t steps, struct err *err)
{
    struct tinker *tinker = locked(state);
    int result = tinker_checkpoint_load(&tinker->model, &tinker->sampler, where, optimizer, err);
    if (result == 0)
        tinker->model.steps = steps;
    return unlocked(tinker, result, err);
}

static int tinker_forget(void *state, const char *directory, const char *where, struct err *err)
{
    struct tinker *tinker = state;
    return tinker_checkpoint_forget(&tinker->model, where, err);
}

static int tinker_export(void *state, const char *directory, struct err *err)
{
    (void)state, (void)directory;
    return err_set(err, ERR_UNSUPPORTED,
                   "the weights are with the Tinker server: `warpgym runs export` downloads them");
}

const struct train_backend_ops train_backend_tinker = {
    .kind = TRAIN_TINKER,
    .open = tinker_open,
    .close = tinker_close,
    .sample = tinker_sample,
    .pass = tinker_pass,
    .step = tinker_step,
    .steps = tinker_steps,
    .clips = tinker_clips,
    .refresh = tinker_refresh,
    .save = tinker_save,
    .load = tinker_load,
    .forget = tinker_forget,
    .export = tinker_export,
};
