#include "policy/learner_memory.h"

#include "device/load.h"
#include "lm/model/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_MOST ((uint64_t)4 << 30) /* learner_engine.c's */
#define GB 1e9

/* MemAvailable, or what the control group leaves. */
static uint64_t available_bytes(void)
{
    struct load load = {0};
    char text[64] = "";
    load_read(&load);
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
    if (file && fgets(text, sizeof text, file)) {
        uint64_t bound = strtoull(text, NULL, 10); /* "max": 0 */
        if (bound > 0 && bound < load.memory_available)
            load.memory_available = bound;
    }
    if (file)
        fclose(file);
    return load.memory_available;
}

static void add_up(struct learner_memory *memory, const struct learner_options *options,
                   const struct lm_model *model)
{
    const struct lm_config *config = &model->config;
    size_t context = options->context > 0 ? options->context : (size_t)config->positions;
    struct lm_pass_options pass = {.rows = options->batch_tokens > 0 ? options->batch_tokens
                                                                     : context,
                                   .backward = true,
                                   .recompute = options->recompute};
    uint64_t element = lm_dtype_bytes(model->backend->dtype), base = lm_config_parameters(config);
    uint64_t adapter = model->lora.rank > 0 ? lm_lora_parameters(&model->lora, config) : 0;
    uint64_t trained = model->lora.rank > 0 ? adapter : base;
    uint64_t position = 2 * (uint64_t)config->layers * config->kv_heads * config->head_width *
                        element;
    /* The sampler has a copy of what is trained, and shares the rest. */
    memory->weights = (base + adapter + trained) * element;
    memory->training = trained * (element + 2 * sizeof(float));
    memory->activations = lm_pass_bytes(model, &pass);
    pass.backward = false;
    memory->base = trained * element + lm_pass_bytes(model, &pass);
    memory->cache = position * context * options->at_once;
    if (memory->cache > CACHE_MOST)
        memory->cache = CACHE_MOST > position * context ? CACHE_MOST : position * context;
}

int learner_memory(struct learner_memory *memory, const struct learner_options *options,
                   struct err *err)
{
    struct lm_model model = {
        .lora = {.rank = options->lora_rank, .targets = (1U << LM_LORA_TARGET_COUNT) - 1}};
    *memory = (struct learner_memory){0};
    if (strcmp(options->kind, "engine") != 0)
        return 0;
    int result = lm_config_read(&model.config, options->model, err);
    if (result == 0)
        result = lm_backend_open(&model.backend, options->backend ? options->backend : "cpu", 1,
                                 err);
    if (result < 0)
        return result;
    add_up(memory, options, &model);
    memory->available = available_bytes();
    lm_backend_close(model.backend);
    return 0;
}

int learner_memory_check(const struct learner_options *options, bool base, struct err *err)
{
    struct learner_memory memory;
    char kept[64] = "";
    int result = learner_memory(&memory, options, err);
    if (result < 0)
        return result;
    uint64_t all = memory.weights + memory.training + memory.activations + memory.cache +
                   (base ? memory.base : 0);
    if (memory.available == 0 || all <= memory.available)
        return 0;
    if (base)
        snprintf(kept, sizeof kept, ", %.1f for train.kl", (double)memory.base / GB);
    return err_set(err, ERR_LIMIT,
                   "training would take %.1f GB of memory, and %.1f GB are free: %.1f for weights, "
                   "%.1f for gradients and optimiser, %.1f for a pass of train.batch_tokens, %.1f "
                   "for samples%s; lower train.batch_tokens, train.context or train.jobs, set "
                   "train.lora_rank, or take a smaller model",
                   (double)all / GB, (double)memory.available / GB, (double)memory.weights / GB,
                   (double)memory.training / GB, (double)memory.activations / GB,
                   (double)memory.cache / GB, kept);
}
