/* What the engine computes, for tests that compare it with other libraries (tests/lm).
 *
 *   lm_probe MODEL REQUEST.json OUT.safetensors [KEY=VALUE…]
 *
 * MODEL is a directory. Keys: backend, threads, train (all, adapter; none by default), adapter (a
 * directory), rank and alpha (a fresh adapter on all layers), recompute, head_rows, save (a
 * directory for the model), merge, save_adapter (a directory).
 *
 * REQUEST is {"tokens": […], "starts": […], "targets": […], "dlogprob": […]} and maybe "dentropy",
 * "temperature", and "rope" (positions of which the tables are wanted).
 *
 * OUT holds logits, logprob, entropy, loss (Σ dlogprob·logprob + Σ dentropy·entropy), cosine and
 * sine, and as gradient.NAME each gradient. Prints the reason and ends with 1 where it cannot.
 */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "lm/model/pass.h"
#include "lm/model/value.h"
#include "lm/weights/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_BYTES ((size_t)16 << 20)

struct options {
    const char *backend, *threads, *train, *adapter, *rank, *alpha, *recompute, *head_rows;
    const char *save, *merge, *save_adapter;
};

struct request {
    struct lm_batch batch;
    int32_t *tokens, *starts, *targets, *rope;
    float *dlogprob, *dentropy; /* dentropy NULL: no entropy */
    size_t rope_count;
    double temperature;
};

struct result {
    const struct request *request;
    float *logits, *logprob, *entropy;
    double loss;
};

static int read_options(struct options *options, int count, char **words, struct err *err)
{
    const struct {
        const char *key;
        const char **value;
    } keys[] = {
        {"backend", &options->backend},
        {"threads", &options->threads},
        {"train", &options->train},
        {"adapter", &options->adapter},
        {"rank", &options->rank},
        {"alpha", &options->alpha},
        {"recompute", &options->recompute},
        {"head_rows", &options->head_rows},
        {"save", &options->save},
        {"merge", &options->merge},
        {"save_adapter", &options->save_adapter},
    };
    for (int i = 0; i < count; i++) {
        size_t key = 0, length = strcspn(words[i], "=");
        while (key < COUNT(keys) &&
               (strlen(keys[key].key) != length || strncmp(keys[key].key, words[i], length) != 0))
            key++;
        if (key == COUNT(keys) || words[i][length] != '=')
            return err_set(err, ERR_INPUT, "'%s' is no option", words[i]);
        *keys[key].value = words[i] + length + 1;
    }
    return 0;
}

static size_t number(const char *text)
{
    return text ? (size_t)strtoul(text, NULL, 10) : 0;
}

/* Of an array of numbers: one of the two outputs. *count 0: any number of them. */
static int read_numbers(const json_t *document, const char *key, size_t *count, int32_t **whole,
                        float **real, struct err *err)
{
    json_t *array = NULL;
    int result = json_get_array(document, key, &array, err);
    if (result < 0)
        return result;
    size_t found = json_array_size(array);
    if (*count > 0 && found != *count)
        return err_set(err, ERR_INPUT, "'%s' has %zu numbers, not %zu", key, found, *count);
    if (whole)
        *whole = mem_alloc(found * sizeof **whole);
    if (real)
        *real = mem_alloc(found * sizeof **real);
    for (size_t i = 0; i < found; i++) {
        if (whole)
            (*whole)[i] = (int32_t)json_integer_value(json_array_get(array, i));
        if (real)
            (*real)[i] = (float)json_number_value(json_array_get(array, i));
    }
    *count = found;
    return 0;
}

static int parse_request(struct request *request, const json_t *document, struct err *err)
{
    size_t rows = 0, borders = 0;
    request->temperature = 1;
    int result = read_numbers(document, "tokens", &rows, &request->tokens, NULL, err);
    if (result == 0)
        result = read_numbers(document, "starts", &borders, &request->starts, NULL, err);
    if (result == 0)
        result = read_numbers(document, "targets", &rows, &request->targets, NULL, err);
    if (result == 0)
        result = read_numbers(document, "dlogprob", &rows, NULL, &request->dlogprob, err);
    if (result == 0 && json_object_get(document, "dentropy"))
        result = read_numbers(document, "dentropy", &rows, NULL, &request->dentropy, err);
    if (result == 0 && json_object_get(document, "rope"))
        result = read_numbers(document, "rope", &request->rope_count, &request->rope, NULL, err);
    if (result == 0)
        result = json_find_double(document, "temperature", &request->temperature, err);
    if (result == 0 && borders == 0)
        result = err_set(err, ERR_INPUT, "'starts' is empty");
    if (result == 0)
        request->batch = (struct lm_batch){.rows = rows,
                                           .sequences = borders - 1,
                                           .tokens = request->tokens,
                                           .starts = request->starts};
    return result;
}

static int read_request(struct request *request, const char *path, struct err *err)
{
    json_t *document = NULL;
    int result = json_file_read(path, REQUEST_BYTES, &document, err);
    if (result == 0)
        result = parse_request(request, document, err);
    json_decref(document);
    return result;
}

static void free_request(struct request *request)
{
    mem_free(request->tokens);
    mem_free(request->starts);
    mem_free(request->targets);
    mem_free(request->rope);
    mem_free(request->dlogprob);
    mem_free(request->dentropy);
}

static int open_model(struct lm_model **out, const char *directory, const struct options *options,
                      struct lm_backend *backend, struct err *err)
{
    struct lm_model_options how = {.adapter = options->adapter, .seed = 1};
    if (options->train)
        how.training = strcmp(options->train, "all") == 0 ? LM_TRAIN_ALL : LM_TRAIN_ADAPTER;
    how.lora.rank = number(options->rank);
    how.lora.alpha = (double)number(options->alpha);
    how.lora.targets = how.lora.rank > 0 ? (1U << LM_LORA_TARGET_COUNT) - 1 : 0;
    return lm_model_open(out, directory, backend, &how, err);
}

static void lose(void *context, const struct lm_head_block *block)
{
    struct result *result = context;
    const struct request *request = result->request;
    for (size_t i = 0; i < block->rows; i++) {
        size_t row = block->first + i;
        result->logprob[row] = block->logprob[i];
        result->loss += (double)request->dlogprob[row] * (double)block->logprob[i];
        if (block->dlogprob)
            block->dlogprob[i] = request->dlogprob[row];
        if (!block->entropy)
            continue;
        result->entropy[row] = block->entropy[i];
        result->loss += (double)request->dentropy[row] * (double)block->entropy[i];
        if (block->dentropy)
            block->dentropy[i] = request->dentropy[row];
    }
}

static int compute(struct lm_model *model, const struct options *options, struct result *found,
                   struct err *err)
{
    const struct request *request = found->request;
    struct lm_pass_options how = {.rows = request->batch.rows,
                                  .head_rows = number(options->head_rows),
                                  .backward = options->train,
                                  .recompute = options->recompute};
    struct lm_head head = {.targets = request->targets,
                           .targets_per_row = 1,
                           .temperature = (float)request->temperature,
                           .entropy = request->dentropy,
                           .loss = lose,
                           .context = found};
    struct lm_pass *pass = NULL;
    int result = lm_pass_open(&pass, model, &how, err);
    if (result == 0)
        result = options->train ? lm_pass_train(pass, &request->batch, &head, err)
                                : lm_pass_score(pass, &request->batch, &head, err);
    if (result == 0)
        result = lm_pass_logits(pass, &request->batch, found->logits, err);
    lm_pass_close(pass);
    return result;
}

static int save(struct lm_model *model, const struct options *options, struct err *err)
{
    int result = 0;
    if (options->save)
        result = lm_model_save(model, options->save, LM_F32, options->merge, err);
    if (result == 0 && options->save_adapter)
        result = lm_model_save_adapter(model, options->save_adapter, err);
    return result;
}

struct content {
    const float *values; /* the host's, or NULL: the gradient of `from` */
    const struct lm_parameter *from;
};

struct arrays_out {
    struct safetensors_declaration *rows;
    struct content *contents;
    size_t count;
    struct arena names;
};

static void put_array(struct arrays_out *out_arrays, const char *name, size_t rows, size_t columns,
                      const float *values, const struct lm_parameter *from)
{
    size_t at = out_arrays->count++;
    out_arrays->rows[at] = (struct safetensors_declaration){.name = name,
                                                            .dtype = LM_F32,
                                                            .dimensions = 2,
                                                            .shape = {rows, columns}};
    out_arrays->contents[at] = (struct content){values, from};
}

static int put_all(const struct arrays_out *out_arrays, struct lm_model *model, const char *path,
                   struct err *err)
{
    struct safetensors_writer *writer;
    int result = safetensors_writer_open(&writer, path, out_arrays->rows, out_arrays->count, NULL,
                                         err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < out_arrays->count && result == 0; i++) {
        size_t count = (size_t)(out_arrays->rows[i].shape[0] * out_arrays->rows[i].shape[1]);
        float *values = mem_alloc(count * sizeof *values);
        const struct content *content = &out_arrays->contents[i];
        if (content->values)
            memcpy(values, content->values, count * sizeof *values);
        else
            lm_value_get(model->backend, content->from->gradient, 0, values, count);
        result = safetensors_writer_put(writer, values, count, err);
        mem_free(values);
    }
    return safetensors_writer_end(writer, result, err);
}

/* Rows of a rope table. */
static float *table_rows(const struct lm_model *model, const float *table,
                         const struct request *request)
{
    size_t half = model->config.head_width / 2;
    float *rows = mem_alloc(request->rope_count * half * sizeof *rows);
    for (size_t i = 0; i < request->rope_count; i++)
        model->backend->download(model->backend, rows + i * half,
                                 table + (size_t)request->rope[i] * half, half * sizeof *rows);
    return rows;
}

static int write_result(struct lm_model *model, const struct result *found, const char *path,
                        struct err *err)
{
    const struct request *request = found->request;
    size_t rows = request->batch.rows, most = model->parameter_count + 8;
    size_t half = model->config.head_width / 2;
    struct arrays_out out_arrays = {.rows = mem_alloc(most * sizeof *out_arrays.rows),
                                    .contents = mem_alloc(most * sizeof *out_arrays.contents)};
    float loss = (float)found->loss;
    float *cosine = table_rows(model, model->cosine, request);
    float *sine = table_rows(model, model->sine, request);
    put_array(&out_arrays, "logits", rows, model->config.vocab, found->logits, NULL);
    put_array(&out_arrays, "logprob", 1, rows, found->logprob, NULL);
    put_array(&out_arrays, "loss", 1, 1, &loss, NULL);
    if (request->dentropy)
        put_array(&out_arrays, "entropy", 1, rows, found->entropy, NULL);
    if (request->rope_count > 0) {
        put_array(&out_arrays, "cosine", request->rope_count, half, cosine, NULL);
        put_array(&out_arrays, "sine", request->rope_count, half, sine, NULL);
    }
    for (size_t i = 0; i < model->parameter_count; i++) {
        const struct lm_parameter *p = &model->parameters[i];
        if (p->gradient)
            put_array(&out_arrays, arena_printf(&out_arrays.names, "gradient.%s", p->name), p->rows,
                      p->columns, NULL, p);
    }
    int result = put_all(&out_arrays, model, path, err);
    arena_deinit(&out_arrays.names);
    mem_free(out_arrays.rows);
    mem_free(out_arrays.contents);
    mem_free(cosine);
    mem_free(sine);
    return result;
}

static int probe(char **paths, const struct options *options, const struct request *request,
                 struct err *err)
{
    struct lm_backend *backend = NULL;
    struct lm_model *model = NULL;
    struct result found = {.request = request};
    const char *name = options->backend ? options->backend : "reference";
    int result = lm_backend_open(&backend, name, number(options->threads), err);
    if (result == 0)
        result = open_model(&model, paths[0], options, backend, err);
    if (result == 0) {
        found.logits = mem_alloc(request->batch.rows * model->config.vocab * sizeof(float));
        found.logprob = mem_alloc(request->batch.rows * sizeof(float));
        found.entropy = mem_alloc(request->batch.rows * sizeof(float));
        result = compute(model, options, &found, err);
    }
    for (size_t i = 0; i < request->rope_count && result == 0; i++)
        if (request->rope[i] < 0 || (size_t)request->rope[i] >= model->positions)
            result = err_set(err, ERR_INPUT, "there is no position %d", request->rope[i]);
    if (result == 0)
        result = write_result(model, &found, paths[2], err);
    if (result == 0)
        result = save(model, options, err);
    mem_free(found.logits);
    mem_free(found.logprob);
    mem_free(found.entropy);
    lm_model_close(model);
    lm_backend_close(backend);
    return result;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct request request = {0};
    struct err err = {0};
    int result = argc < 4
                     ? err_set(&err, ERR_INPUT, "usage: lm_probe MODEL REQUEST OUT [KEY=VALUE…]")
                     : read_options(&options, argc - 4, argv + 4, &err);
    if (result == 0)
        result = read_request(&request, argv[2], &err);
    if (result == 0)
        result = probe((char *[]){argv[1], argv[2], argv[3]}, &options, &request, &err);
    free_request(&request);
    if (result < 0)
        fprintf(stderr, "%s\n", err.text);
    return result < 0;
}
