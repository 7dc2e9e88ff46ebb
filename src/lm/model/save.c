/* Models into checkpoints: the base, the base with its adapter merged in, or the adapter alone. */
#include "lm/model/build.h"
#include "lm/model/value.h"

#include "base/file.h"
#include "base/mem.h"
#include "lm/weights/safetensors.h"

#include <string.h>

struct saving {
    struct lm_model *model;
    bool adapter; /* it alone is saved */
    bool merge;
    enum lm_dtype dtype;
    const char *directory;
    struct safetensors_writer *writer;
    float *piece;
};

/* The adapter that sits on this weight, or NULL. */
static const struct lm_projection *adapter_on(const struct lm_model *model,
                                              const struct lm_parameter *weight)
{
    for (size_t i = 0; i < model->config.layers; i++)
        for (size_t t = 0; t < LM_LORA_TARGET_COUNT; t++) {
            const struct lm_projection *p = &model->layers[i].projections[t];
            if (p->weight == weight)
                return p->a ? p : NULL;
        }
    return NULL;
}

static float *download(const struct lm_model *model, const struct lm_parameter *parameter)
{
    size_t count = parameter->rows * parameter->columns;
    float *values = mem_alloc(count * sizeof *values);
    lm_value_get(model->backend, parameter->value, 0, values, count);
    return values;
}

/* weight + scale · B·A, row by row. */
static int put_merged(struct saving *saving, const struct lm_projection *p, struct err *err)
{
    double scale = lm_lora_scale(&saving->model->lora);
    size_t columns = p->weight->columns, rank = p->a->rows;
    float *a = download(saving->model, p->a), *b = download(saving->model, p->b);
    float *row = mem_alloc(columns * sizeof *row);
    double *sums = mem_alloc(columns * sizeof *sums);
    int result = 0;
    for (size_t o = 0; o < p->weight->rows && result == 0; o++) {
        lm_value_get(saving->model->backend, p->weight->value, o * columns, row, columns);
        memset(sums, 0, columns * sizeof *sums);
        for (size_t r = 0; r < rank; r++)
            for (size_t i = 0; i < columns; i++)
                sums[i] += (double)b[o * rank + r] * (double)a[r * columns + i];
        for (size_t i = 0; i < columns; i++)
            row[i] = (float)((double)row[i] + scale * sums[i]);
        result = safetensors_writer_put(saving->writer, row, columns, err);
    }
    mem_free(a);
    mem_free(b);
    mem_free(row);
    mem_free(sums);
    return result;
}

static int put_plain(struct saving *saving, const struct lm_parameter *parameter, struct err *err)
{
    size_t count = parameter->rows * parameter->columns;
    int result = 0;
    for (size_t first = 0; first < count && result == 0; first += LM_VALUE_PIECE) {
        size_t some = count - first < LM_VALUE_PIECE ? count - first : LM_VALUE_PIECE;
        lm_value_get(saving->model->backend, parameter->value, first, saving->piece, some);
        result = safetensors_writer_put(saving->writer, saving->piece, some, err);
    }
    return result;
}

static int put_all(struct saving *saving, struct err *err)
{
    struct lm_model *model = saving->model;
    int result = 0;
    saving->piece = mem_alloc(LM_VALUE_PIECE * sizeof *saving->piece);
    for (size_t i = 0; i < model->parameter_count && result == 0; i++) {
        const struct lm_parameter *parameter = &model->parameters[i];
        if (parameter->adapter != saving->adapter)
            continue;
        const struct lm_projection *merged = saving->merge ? adapter_on(model, parameter) : NULL;
        result = merged ? put_merged(saving, merged, err) : put_plain(saving, parameter, err);
    }
    if (result == 0)
        result = lm_backend_wait(model->backend, err);
    mem_free(saving->piece);
    return result;
}

static int write_tensors(struct saving *saving, struct err *err)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    const struct lm_model *model = saving->model;
    const char *file = saving->adapter ? "adapter_model" : "model";
    const char *prefix = saving->adapter ? "base_model.model." : "";
    struct arena arena = {0};
    struct safetensors_declaration *rows = arena_alloc(&arena,
                                                       model->parameter_count * sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const struct lm_parameter *p = &model->parameters[i];
        if (p->adapter != saving->adapter)
            continue;
        struct safetensors_declaration *row = &rows[count++];
        *row = (struct safetensors_declaration){.name = arena_printf(&arena, "%s%s", prefix,
                                                                     p->name),
                                                .dtype = saving->dtype,
                                                .dimensions = p->vector ? 1 : 2,
                                                .shape = {p->rows, p->columns}};
        if (p->vector)
            row->shape[0] = p->columns;
    }
    const char *path = arena_printf(&arena, "%s/%s.safetensors", saving->directory, file);
    int result = safetensors_writer_open(&saving->writer, path, rows, count, metadata, err);
    if (result == 0)
        result = safetensors_writer_end(saving->writer, put_all(saving, err), err);
    arena_deinit(&arena);
    return result;
}

/* Takes over the configuration's reference. */
static int save(struct saving *saving, json_t *config, struct err *err)
{
    char *path = mem_printf("%s/%s", saving->directory,
                            saving->adapter ? "adapter_config.json" : "config.json");
    int result = file_make_directories(saving->directory, 0755, err);
    if (result == 0)
        result = json_file_write(path, config, true, err);
    if (result == 0)
        result = write_tensors(saving, err);
    mem_free(path);
    json_decref(config);
    return result;
}

/* As Transformers spells them in config.json; a server may refuse a model without it. */
static const char *const torch_names[] = {
    [LM_F32] = "float32", [LM_F16] = "float16", [LM_BF16] = "bfloat16"};

int lm_model_save(struct lm_model *model, const char *directory, enum lm_dtype dtype, bool merge,
                  struct err *err)
{
    struct saving saving = {.model = model, .merge = merge, .dtype = dtype, .directory = directory};
    json_t *config = lm_config_json(&model->config);
    json_put(config, "torch_dtype", json_text(torch_names[dtype]));
    return save(&saving, config, err);
}

int lm_model_save_adapter(struct lm_model *model, const char *directory, struct err *err)
{
    struct saving saving = {.model = model,
                            .adapter = true,
                            .dtype = LM_F32,
                            .directory = directory};
    if (model->lora.rank == 0)
        return err_set(err, ERR_INPUT, "%s: the model has no adapter to save", directory);
    return save(&saving, lm_adapter_json(&model->lora), err);
}
