#include "policy/train_backend_memory.h"

#include "device/machine_load.h"
#include "lm/model/pass.h"
#include "lm/sample/sampler.h"

#define GB 1e9

struct memory {
    uint64_t weights;     /* of the model and of the sampler's copy */
    uint64_t training;    /* gradients and the optimiser's two moments */
    uint64_t activations; /* of one pass of batch_tokens */
    uint64_t cache;       /* keys and values of the samples in flight, at their longest */
    uint64_t base;        /* train_backend_open_base: a copy of the trained weights, a forward
                           * pass */
    uint64_t available;   /* 0: unknown */
};

static size_t longest_turn(const struct train_backend_options *options,
                           const struct lm_config *config)
{
    return options->context > 0 ? options->context : (size_t)config->positions;
}

static void estimate_engine(struct memory *memory, const struct train_backend_options *options,
                            const struct lm_model *model)
{
    const struct lm_config *config = &model->config;
    size_t context = longest_turn(options, config);
    struct lm_pass_options pass = {.rows = options->batch_tokens > 0 ? options->batch_tokens
                                                                     : context,
                                   .backward = true,
                                   .recompute = options->recompute};
    uint64_t element = lm_dtype_bytes(model->backend->dtype), base = lm_config_parameters(config);
    uint64_t adapter = model->lora.rank > 0 ? lm_lora_parameters(&model->lora, config) : 0;
    uint64_t trained = model->lora.rank > 0 ? adapter : base;
    const struct lm_sampler_options sampler =
        lm_sampler_capacity(config, model->backend->dtype,
                            options->at_once > 0 ? options->at_once : 1, context, LM_CACHE_BYTES);
    /* The sampler has a copy of the trained weights, and shares the rest. */
    memory->weights = (base + adapter + trained) * element;
    memory->training = trained * (element + 2 * sizeof(float));
    memory->activations = lm_pass_bytes(model, &pass);
    memory->cache = sampler.cache_tokens * lm_cache_position_bytes(config, model->backend->dtype);
    pass.backward = false;
    memory->base = trained * element + lm_pass_bytes(model, &pass);
}

/* The first turn of that length would end the run. */
static int check_pass(const struct train_backend_options *options, const struct lm_config *config,
                      struct err *err)
{
    size_t context = longest_turn(options, config);
    if (options->batch_tokens == 0 || options->batch_tokens >= context)
        return 0;
    return err_set(
        err, ERR_INPUT,
        "train.batch_tokens is %zu, and a turn may have the %zu tokens of train.context: "
        "raise the one or lower the other",
        options->batch_tokens, context);
}

/* All 0 for a remote backend. */
static int estimate_memory(struct memory *memory, const struct train_backend_options *options,
                           struct err *err)
{
    struct lm_model model = {
        .lora = {.rank = options->lora_rank, .targets = (1U << LM_LORA_TARGET_COUNT) - 1}};
    *memory = (struct memory){0};
    if (options->kind != TRAIN_ENGINE)
        return 0;
    int result = lm_config_read(&model.config, options->model, err);
    if (result == 0)
        result = check_pass(options, &model.config, err);
    if (result == 0)
        result = lm_backend_open(&model.backend, options->device ? options->device : "cpu", 1, err);
    if (result < 0)
        return result;
    estimate_engine(memory, options, &model);
    memory->available = load_available_bytes();
    lm_backend_close(model.backend);
    return 0;
}

int train_backend_memory_check(const struct train_backend_options *options, bool base,
                               struct err *err)
{
    struct memory memory;
    char kept[64] = "";
    int result = estimate_memory(&memory, options, err);
    if (result < 0)
        return result;
    uint64_t all = memory.weights + memory.training + memory.activations + memory.cache +
                   (base ? memory.base : 0);
    if (memory.available == 0 || all <= memory.available)
        return 0;
    if (base)
        snprintf(kept, sizeof kept, ", %.1f for train.kl", (double)memory.base / GB);
    return err_set(err, ERR_LIMIT,
                   "training needs %.1f GB of memory, and %.1f GB are free: %.1f for weights, "
                   "%.1f for gradients and optimiser, %.1f for a pass of train.batch_tokens, %.1f "
                   "for samples%s; lower train.batch_tokens, train.context or train.jobs, set "
                   "train.lora_rank, or take a smaller model",
                   (double)all / GB, (double)memory.available / GB, (double)memory.weights / GB,
                   (double)memory.training / GB, (double)memory.activations / GB,
                   (double)memory.cache / GB, kept);
}
