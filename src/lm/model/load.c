/* Checkpoints into models. Everything is checked against the list of parameters before the first
 * value changes: what fails later is a disk that fails. */
#include "lm/model/build.h"
#include "lm/model/value.h"

#include "base/array.h"
#include "base/mem.h"
#include "lm/weights/safetensors.h"

#include <stdio.h>
#include <string.h>

#define ADAPTER_PREFIX "base_model.model."

/* Which half of a model a file holds, and how its names begin. */
enum part { PART_BASE, PART_ADAPTER };
static const char *const prefixes[] = {[PART_BASE] = "", [PART_ADAPTER] = ADAPTER_PREFIX};

static bool belongs(const struct lm_parameter *parameter, enum part part)
{
    return parameter->adapter == (part == PART_ADAPTER);
}

static const struct lm_tensor *tensor_of(const struct safetensors *set, enum part part,
                                         const struct lm_parameter *parameter)
{
    char name[LM_PARAMETER_NAME_MAX + sizeof ADAPTER_PREFIX];
    snprintf(name, sizeof name, "%s%s", prefixes[part], parameter->name);
    return safetensors_find(set, name);
}

static const char *shape_text(const struct lm_tensor *tensor, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < tensor->dimensions && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%llu", i > 0 ? ", " : "",
                                 (unsigned long long)tensor->shape[i]);
    return text;
}

static int check_tensor(const char *path, const struct lm_tensor *tensor,
                        const struct lm_parameter *parameter, struct err *err)
{
    static const char *const floats[] = {"F32", "BF16", "F16"};
    char text[LM_TENSOR_DIMENSIONS * 22];
    bool is_float = false, fits;
    for (size_t i = 0; i < COUNT(floats); i++)
        is_float = is_float || strcmp(tensor->dtype_name, floats[i]) == 0;
    if (parameter->vector)
        fits = tensor->dimensions == 1 && tensor->shape[0] == parameter->columns;
    else
        fits = tensor->dimensions == 2 && tensor->shape[0] == parameter->rows &&
               tensor->shape[1] == parameter->columns;
    if (!is_float)
        return err_set(err, ERR_INPUT,
                       "%s: '%s' is of type %s; the engine reads F32, BF16 "
                       "and F16",
                       path, tensor->name, tensor->dtype_name);
    if (fits)
        return 0;
    shape_text(tensor, text, sizeof text);
    if (parameter->vector)
        return err_set(err, ERR_INPUT, "%s: '%s' has shape [%s]; config.json asks for [%zu]", path,
                       tensor->name, text, parameter->columns);
    return err_set(err, ERR_INPUT, "%s: '%s' has shape [%s]; %s [%zu, %zu]", path, tensor->name,
                   text,
                   parameter->adapter ? "the model and adapter_config.json ask for"
                                      : "config.json asks for",
                   parameter->rows, parameter->columns);
}

/* What checkpoints hold beside parameters: tables that follow from the config, and a tied head. */
static bool is_tolerated(const struct lm_model *model, const char *name)
{
    static const char table[] = ".rotary_emb.inv_freq";
    size_t length = strlen(name);
    return (length >= sizeof table - 1 && strcmp(name + length - (sizeof table - 1), table) == 0) ||
           (model->head == model->embedding && strcmp(name, "lm_head.weight") == 0);
}

static int check_stranger(const struct lm_model *model, enum part part, const char *path,
                          const char *name, struct err *err)
{
    size_t skip = strlen(prefixes[part]);
    const struct lm_parameter *parameter = strncmp(name, prefixes[part], skip) == 0
                                               ? lm_model_find(model, name + skip)
                                               : NULL;
    if ((parameter && belongs(parameter, part)) || (part == PART_BASE && is_tolerated(model, name)))
        return 0;
    return err_set(err, ERR_INPUT, "%s: '%.200s' is no tensor of this %s", path, name,
                   part == PART_ADAPTER ? "adapter" : "model");
}

static int check_all(const struct lm_model *model, enum part part, const char *path,
                     const struct safetensors *set, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < model->parameter_count && result == 0; i++) {
        const struct lm_parameter *parameter = &model->parameters[i];
        if (!belongs(parameter, part))
            continue;
        const struct lm_tensor *tensor = tensor_of(set, part, parameter);
        result = tensor ? check_tensor(path, tensor, parameter, err)
                        : err_set(err, ERR_INPUT, "%s: tensor '%s%s' is missing", path,
                                  prefixes[part], parameter->name);
    }
    for (size_t i = 0; i < safetensors_count(set) && result == 0; i++)
        result = check_stranger(model, part, path, safetensors_at(set, i)->name, err);
    return result;
}

static int read_one(struct lm_model *model, const struct lm_tensor *tensor,
                    const struct lm_parameter *parameter, float *piece, struct err *err)
{
    int result = 0;
    for (uint64_t first = 0; first < tensor->count && result == 0; first += LM_VALUE_PIECE) {
        uint64_t left = tensor->count - first;
        uint64_t some = left < LM_VALUE_PIECE ? left : LM_VALUE_PIECE;
        result = lm_tensor_read(tensor, first, some, piece, err);
        if (result == 0)
            lm_value_put(model->backend, parameter->value, first, piece, some);
    }
    return result;
}

static int read_all(struct lm_model *model, enum part part, const struct safetensors *set,
                    struct err *err)
{
    float *piece = mem_alloc(LM_VALUE_PIECE * sizeof *piece);
    int result = 0;
    for (size_t i = 0; i < model->parameter_count && result == 0; i++) {
        const struct lm_parameter *parameter = &model->parameters[i];
        if (belongs(parameter, part))
            result = read_one(model, tensor_of(set, part, parameter), parameter, piece, err);
    }
    if (result == 0)
        result = lm_backend_wait(model->backend, err);
    mem_free(piece);
    model->version++;
    return result;
}

/* Opens the file or files of one part and holds them against the model. */
static int open_checked(struct safetensors **out, const struct lm_model *model, enum part part,
                        const char *directory, struct err *err)
{
    char *path = part == PART_ADAPTER ? mem_printf("%s/adapter_model.safetensors", directory)
                                      : mem_strdup(directory);
    *out = NULL;
    int result = safetensors_open(out, path, err);
    if (result == 0)
        result = check_all(model, part, path, *out, err);
    mem_free(path);
    if (result < 0) {
        safetensors_close(*out);
        *out = NULL;
    }
    return result;
}

int lm_model_open(struct lm_model **out, const char *directory, struct lm_backend *backend,
                  const struct lm_model_options *options, struct err *err)
{
    struct lm_config config;
    struct lm_lora lora = options->lora;
    struct lm_model *model = NULL;
    struct safetensors *base = NULL, *adapter = NULL;
    *out = NULL;
    int result = lm_config_read(&config, directory, err);
    if (result == 0 && options->adapter)
        result = lm_adapter_read(&lora, options->adapter, err);
    if (result == 0)
        result = lm_model_declare(&model, &config, &lora, backend, options, err);
    if (result == 0)
        result = open_checked(&base, model, PART_BASE, directory, err);
    if (result == 0 && options->adapter)
        result = open_checked(&adapter, model, PART_ADAPTER, options->adapter, err);
    if (result == 0)
        result = lm_model_allocate(model, options->training, err);
    if (result == 0)
        result = read_all(model, PART_BASE, base, err);
    if (result == 0 && adapter)
        result = read_all(model, PART_ADAPTER, adapter, err);
    else if (result == 0)
        lm_fresh_adapter(model, options->seed);
    safetensors_close(base);
    safetensors_close(adapter);
    if (result < 0)
        lm_model_close(model);
    else
        *out = model;
    return result;
}

int lm_model_load(struct lm_model *model, const char *directory, struct err *err)
{
    struct safetensors *base;
    int result = open_checked(&base, model, PART_BASE, directory, err);
    if (result == 0)
        result = read_all(model, PART_BASE, base, err);
    safetensors_close(base);
    return result;
}

int lm_model_load_adapter(struct lm_model *model, const char *directory, struct err *err)
{
    struct lm_lora lora;
    struct safetensors *adapter = NULL;
    int result = lm_adapter_read(&lora, directory, err);
    if (result == 0 && (lora.rank != model->lora.rank || lora.targets != model->lora.targets))
        result = err_set(err, ERR_INPUT,
                         "%s: the adapter has rank %zu, or sits on other layers, than the one that "
                         "the model was opened with (rank %zu)",
                         directory, lora.rank, model->lora.rank);
    if (result == 0)
        result = open_checked(&adapter, model, PART_ADAPTER, directory, err);
    if (result == 0) {
        result = read_all(model, PART_ADAPTER, adapter, err);
        model->lora = lora;
    }
    safetensors_close(adapter);
    return result;
}
