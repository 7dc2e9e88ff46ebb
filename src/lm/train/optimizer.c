#include "lm/train/optimizer.h"

#include "base/array.h"
#include "base/mem.h"
#include "lm/weights/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES (LM_PARAMETER_NAME_MAX + 8)
#define STAGING_ELEMENTS ((uint64_t)1 << 20)
/* Steps are kept as two floats, each of which holds its part exactly. */
#define STEPS_NAME "steps"
#define STEPS_LOW ((uint64_t)1 << 20)

enum moment { FIRST, SECOND, MOMENTS };
static const char *const moment_names[MOMENTS] = {"m", "v"};

struct slot {
    struct lm_parameter *parameter;
    uint64_t count;
    void *moments[MOMENTS]; /* f32 */
};

struct lm_optimizer {
    struct lm_model *model;
    struct slot *slots; /* of the trained parameters, in the model's order */
    size_t count;
    void *sums; /* a double for each */
    double *host_sums;
    uint64_t steps;
};

const struct lm_adam lm_adam_defaults = {.rate = 1e-4,
                                         .beta1 = 0.9,
                                         .beta2 = 0.95,
                                         .epsilon = 1e-12};

static int add_slot(struct lm_optimizer *optimizer, struct lm_parameter *parameter, struct err *err)
{
    struct lm_backend *backend = optimizer->model->backend;
    struct slot *slot = &optimizer->slots[optimizer->count++];
    *slot = (struct slot){.parameter = parameter,
                          .count = (uint64_t)parameter->rows * parameter->columns};
    for (int k = 0; k < MOMENTS; k++) {
        size_t bytes = slot->count * sizeof(float);
        int result = lm_backend_alloc(backend, bytes, "the optimiser's state", &slot->moments[k],
                                      err);
        if (result < 0)
            return result;
        backend->zero(backend, slot->moments[k], bytes);
    }
    return 0;
}

int lm_optimizer_open(struct lm_optimizer **out, struct lm_model *model, struct err *err)
{
    struct lm_optimizer *optimizer = mem_alloc(sizeof *optimizer);
    int result = 0;
    optimizer->model = model;
    optimizer->slots = mem_alloc(model->parameter_count * sizeof *optimizer->slots);
    for (size_t i = 0; i < model->parameter_count && result == 0; i++)
        if (model->parameters[i].gradient)
            result = add_slot(optimizer, &model->parameters[i], err);
    if (result == 0 && optimizer->count == 0)
        result = err_set(err, ERR_INPUT,
                         "the model has no parameter that is trained: open it with "
                         "an adapter, or for training all of it");
    if (result == 0)
        result = lm_backend_alloc(model->backend, optimizer->count * sizeof(double),
                                  "the norms of the gradients", &optimizer->sums, err);
    optimizer->host_sums = mem_alloc((optimizer->count + 1) * sizeof *optimizer->host_sums);
    if (result < 0) {
        lm_optimizer_close(optimizer);
        return result;
    }
    *out = optimizer;
    return 0;
}

void lm_optimizer_close(struct lm_optimizer *optimizer)
{
    if (!optimizer)
        return;
    struct lm_backend *backend = optimizer->model->backend;
    for (size_t i = 0; i < optimizer->count; i++)
        for (int k = 0; k < MOMENTS; k++)
            backend->free(backend, optimizer->slots[i].moments[k]);
    backend->free(backend, optimizer->sums);
    mem_free(optimizer->host_sums);
    mem_free(optimizer->slots);
    mem_free(optimizer);
}

uint64_t lm_optimizer_steps(const struct lm_optimizer *optimizer)
{
    return optimizer->steps;
}

static int check_adam(const struct lm_adam *adam, struct err *err)
{
    const struct {
        const char *name;
        double value;
        bool fine;
        const char *range;
    } rows[] = {
        {"rate", adam->rate, adam->rate >= 0, "0 or more"},
        {"beta1", adam->beta1, adam->beta1 >= 0 && adam->beta1 < 1, "at least 0 and below 1"},
        {"beta2", adam->beta2, adam->beta2 >= 0 && adam->beta2 < 1, "at least 0 and below 1"},
        {"epsilon", adam->epsilon, adam->epsilon > 0, "above 0"},
        {"decay", adam->decay, adam->decay >= 0, "0 or more"},
        {"clip", adam->clip, adam->clip >= 0, "0 (none) or more"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!rows[i].fine || !isfinite(rows[i].value))
            return err_set(err, ERR_INPUT, "the optimiser's %s is %g; it must be %s", rows[i].name,
                           rows[i].value, rows[i].range);
    return 0;
}

static int gradient_norm(struct lm_optimizer *optimizer, double *norm, struct err *err)
{
    struct lm_backend *backend = optimizer->model->backend;
    double sum = 0;
    for (size_t i = 0; i < optimizer->count; i++) {
        const struct lm_square_sum op = {.count = optimizer->slots[i].count,
                                         .x = optimizer->slots[i].parameter->gradient,
                                         .sum = (double *)optimizer->sums + i};
        backend->ops->square_sum.forward(backend, &op);
    }
    int result = lm_backend_wait(backend, err);
    if (result < 0)
        return result;
    backend->download(backend, optimizer->host_sums, optimizer->sums,
                      optimizer->count * sizeof(double));
    for (size_t i = 0; i < optimizer->count; i++)
        sum += optimizer->host_sums[i];
    *norm = sqrt(sum);
    return 0;
}

static void update(struct lm_optimizer *optimizer, const struct lm_adam *adam, double scale)
{
    struct lm_backend *backend = optimizer->model->backend;
    struct lm_adamw op = {.rate = (float)adam->rate,
                          .beta1 = (float)adam->beta1,
                          .beta2 = (float)adam->beta2,
                          .epsilon = (float)adam->epsilon,
                          .gradient_scale = (float)scale,
                          .correction1 = 1 - pow(adam->beta1, (double)optimizer->steps),
                          .correction2 = 1 - pow(adam->beta2, (double)optimizer->steps)};
    for (size_t i = 0; i < optimizer->count; i++) {
        struct slot *slot = &optimizer->slots[i];
        op.count = slot->count;
        op.weight = slot->parameter->value;
        op.gradient = slot->parameter->gradient;
        op.m = slot->moments[FIRST];
        op.v = slot->moments[SECOND];
        op.decay = slot->parameter->vector ? 0 : (float)adam->decay;
        backend->ops->adamw.forward(backend, &op);
    }
}

int lm_optimizer_step(struct lm_optimizer *optimizer, const struct lm_adam *adam, double *norm,
                      struct err *err)
{
    double found = 0;
    int result = check_adam(adam, err);
    if (result < 0)
        return result;
    result = gradient_norm(optimizer, &found, err);
    if (result == 0 && !isfinite(found))
        result = err_set(err, ERR_INPUT,
                         "the gradients' norm is %g: the model is left as it was; lower the rate, "
                         "or clip the gradients",
                         found);
    if (result == 0) {
        optimizer->steps++;
        update(optimizer, adam, adam->clip > 0 && found > adam->clip ? adam->clip / found : 1);
        optimizer->model->version++;
        result = lm_backend_wait(optimizer->model->backend, err);
    }
    lm_model_zero_gradients(optimizer->model);
    if (norm)
        *norm = found;
    return result;
}

static struct safetensors_declaration *declare(const struct lm_optimizer *optimizer,
                                               struct arena *arena)
{
    size_t at = 0;
    struct safetensors_declaration *all = arena_alloc(arena, (MOMENTS * optimizer->count + 1) *
                                                                 sizeof *all);
    all[at++] = (struct safetensors_declaration){.name = STEPS_NAME,
                                                 .dtype = LM_F32,
                                                 .dimensions = 1,
                                                 .shape = {2}};
    for (size_t i = 0; i < optimizer->count; i++)
        for (int k = 0; k < MOMENTS; k++) {
            const struct lm_parameter *parameter = optimizer->slots[i].parameter;
            all[at++] = (struct safetensors_declaration){
                .name = arena_printf(arena, "%s.%s", parameter->name, moment_names[k]),
                .dtype = LM_F32,
                .dimensions = 2,
                .shape = {parameter->rows, parameter->columns}};
        }
    return all;
}

static int put_moment(struct lm_optimizer *optimizer, struct safetensors_writer *writer,
                      const float *from, uint64_t count, float *staging, struct err *err)
{
    struct lm_backend *backend = optimizer->model->backend;
    for (uint64_t at = 0; at < count; at += STAGING_ELEMENTS) {
        uint64_t part = count - at < STAGING_ELEMENTS ? count - at : STAGING_ELEMENTS;
        backend->download(backend, staging, from + at, part * sizeof *staging);
        int result = safetensors_writer_put(writer, staging, part, err);
        if (result < 0)
            return result;
    }
    return 0;
}

int lm_optimizer_save(struct lm_optimizer *optimizer, const char *path, struct err *err)
{
    struct arena arena = {0};
    struct safetensors_writer *writer = NULL;
    float *staging = mem_alloc(STAGING_ELEMENTS * sizeof *staging);
    const uint64_t high = optimizer->steps / STEPS_LOW, low = optimizer->steps % STEPS_LOW;
    const float steps[2] = {(float)high, (float)low};
    int result = safetensors_writer_open(&writer, path, declare(optimizer, &arena),
                                         MOMENTS * optimizer->count + 1, NULL, err);
    if (result == 0)
        result = safetensors_writer_put(writer, steps, 2, err);
    for (size_t i = 0; i < optimizer->count && result == 0; i++)
        for (int k = 0; k < MOMENTS && result == 0; k++)
            result = put_moment(optimizer, writer, optimizer->slots[i].moments[k],
                                optimizer->slots[i].count, staging, err);
    result = safetensors_writer_end(writer, result, err);
    mem_free(staging);
    arena_deinit(&arena);
    return result;
}

static int check_file(struct lm_optimizer *optimizer, const struct safetensors *file,
                      const char *path, struct arena *arena, struct err *err)
{
    const struct safetensors_declaration *wanted = declare(optimizer, arena);
    size_t count = MOMENTS * optimizer->count + 1;
    for (size_t i = 0; i < count; i++) {
        const struct lm_tensor *tensor = safetensors_find(file, wanted[i].name);
        if (!tensor)
            return err_set(err, ERR_INPUT,
                           "%s: has no %s: it belongs to another model, or to another choice of "
                           "what is trained",
                           path, wanted[i].name);
        if (strcmp(tensor->dtype_name, "F32") != 0 || tensor->dimensions != wanted[i].dimensions ||
            memcmp(tensor->shape, wanted[i].shape, tensor->dimensions * sizeof *tensor->shape) != 0)
            return err_set(err, ERR_INPUT, "%s: %s has another type or shape than the model's",
                           path, wanted[i].name);
    }
    if (safetensors_count(file) != count)
        return err_set(err, ERR_INPUT,
                       "%s: holds %zu tensors where the model's trained parameters have %zu", path,
                       safetensors_count(file), count);
    return 0;
}

static int read_steps(const struct safetensors *file, const char *path, uint64_t *out,
                      struct err *err)
{
    float parts[2];
    int result = lm_tensor_read(safetensors_find(file, STEPS_NAME), 0, 2, parts, err);
    if (result < 0)
        return result;
    for (int i = 0; i < 2; i++)
        if (!(parts[i] >= 0 && parts[i] < (float)STEPS_LOW && parts[i] == floorf(parts[i])))
            return err_set(err, ERR_INPUT, "%s: " STEPS_NAME " is no count", path);
    *out = (uint64_t)parts[0] * STEPS_LOW + (uint64_t)parts[1];
    return 0;
}

static int get_moment(struct lm_optimizer *optimizer, const struct lm_tensor *tensor, float *to,
                      float *staging, struct err *err)
{
    struct lm_backend *backend = optimizer->model->backend;
    for (uint64_t at = 0; at < tensor->count; at += STAGING_ELEMENTS) {
        uint64_t left = tensor->count - at;
        uint64_t part = left < STAGING_ELEMENTS ? left : STAGING_ELEMENTS;
        int result = lm_tensor_read(tensor, at, part, staging, err);
        if (result < 0)
            return result;
        backend->upload(backend, to + at, staging, part * sizeof *staging);
    }
    return 0;
}

int lm_optimizer_load(struct lm_optimizer *optimizer, const char *path, struct err *err)
{
    struct arena arena = {0};
    struct safetensors *file = NULL;
    char name[NAME_BYTES];
    uint64_t steps = 0;
    float *staging = mem_alloc(STAGING_ELEMENTS * sizeof *staging);
    int result = safetensors_open(&file, path, err);
    if (result == 0)
        result = check_file(optimizer, file, path, &arena, err);
    if (result == 0)
        result = read_steps(file, path, &steps, err);
    for (size_t i = 0; i < optimizer->count && result == 0; i++)
        for (int k = 0; k < MOMENTS && result == 0; k++) {
            struct slot *slot = &optimizer->slots[i];
            snprintf(name, sizeof name, "%s.%s", slot->parameter->name, moment_names[k]);
            result = get_moment(optimizer, safetensors_find(file, name), slot->moments[k], staging,
                                err);
        }
    if (result == 0)
        optimizer->steps = steps;
    safetensors_close(file);
    mem_free(staging);
    arena_deinit(&arena);
    return result;
}
