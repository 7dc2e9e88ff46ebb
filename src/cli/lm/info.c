/* lm info: describes a model from its config and the headers of its files. */
#include "cli/cli.h"

#include "base/array.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/model/pass.h"
#include "lm/sample/sampler.h"
#include "lm/tokenizer/tokenizer.h"
#include "lm/weights/safetensors.h"

#include <stdio.h>
#include <string.h>

#define DTYPES 24

/* Bytes of the engine's memory for one step. */
struct cost {
    uint64_t trained; /* elements */
    uint64_t weights, gradients, optimizer;
    uint64_t activations, recomputed; /* alternatives */
};

struct checkpoint {
    size_t files, tensors;
    uint64_t elements, bytes;
    struct {
        const char *name;
        uint64_t bytes;
    } dtypes[DTYPES];
    size_t dtype_count;
};

struct info {
    const char *directory, *named_adapter;
    int64_t named_tokens, named_rank;
    bool json;
    struct lm_config config;
    bool has_checkpoint, has_tokenizer, has_adapter;
    struct checkpoint checkpoint;
    size_t tokenizer_size;
    struct lm_lora lora; /* the adapter's, or a hypothetical one's */
    size_t tokens;
    struct cost whole, adapter;
};

static void count_dtype(struct checkpoint *checkpoint, const struct lm_tensor *tensor)
{
    size_t i = 0;
    while (i < checkpoint->dtype_count &&
           strcmp(checkpoint->dtypes[i].name, tensor->dtype_name) != 0)
        i++;
    if (i == DTYPES)
        return;
    if (i == checkpoint->dtype_count) {
        checkpoint->dtypes[i].name = tensor->dtype_name; /* of a constant table */
        checkpoint->dtype_count++;
    }
    checkpoint->dtypes[i].bytes += tensor->bytes;
}

/* Weights are optional: a config alone can be described. */
static int read_weights(struct info *info, struct err *err)
{
    struct safetensors *set = NULL;
    struct checkpoint *checkpoint = &info->checkpoint;
    int result = safetensors_open(&set, info->directory, err);
    if (result == ERR_MISSING && strstr(err->text, "holds neither"))
        return 0;
    if (result < 0)
        return result;
    info->has_checkpoint = true;
    checkpoint->files = safetensors_files(set);
    checkpoint->tensors = safetensors_count(set);
    for (size_t i = 0; i < checkpoint->tensors; i++) {
        const struct lm_tensor *tensor = safetensors_at(set, i);
        checkpoint->elements += tensor->count;
        checkpoint->bytes += tensor->bytes;
        count_dtype(checkpoint, tensor);
    }
    safetensors_close(set);
    return 0;
}

static int read_tokenizer(struct info *info, struct err *err)
{
    struct tokenizer *tokenizer = NULL;
    char *path = mem_printf("%s/tokenizer.json", info->directory);
    int result = 0;
    if (file_exists(path)) {
        result = tokenizer_open(&tokenizer, path, err);
        if (result == 0) {
            info->has_tokenizer = true;
            info->tokenizer_size = tokenizer_size(tokenizer);
            tokenizer_close(tokenizer);
        }
    }
    mem_free(path);
    return result;
}

static struct cost cost_of(const struct info *info, const struct lm_lora *lora,
                           struct lm_backend *backend)
{
    const struct lm_model model = {.config = info->config, .lora = *lora, .backend = backend};
    struct lm_pass_options options = {.rows = info->tokens, .backward = true};
    uint64_t base = lm_config_parameters(&info->config);
    uint64_t more = lora->rank > 0 ? lm_lora_parameters(lora, &info->config) : 0;
    uint64_t element = lm_dtype_bytes(backend->dtype);
    struct cost cost = {.trained = lora->rank > 0 ? more : base};
    cost.weights = (base + more) * element;
    cost.gradients = cost.trained * element;
    cost.optimizer = cost.trained * 2 * sizeof(float);
    cost.activations = lm_pass_bytes(&model, &options);
    options.recompute = true;
    cost.recomputed = lm_pass_bytes(&model, &options);
    return cost;
}

static int info_read(struct info *info, struct err *err)
{
    struct lm_backend *backend = NULL;
    int result = lm_config_read(&info->config, info->directory, err);
    if (result == 0)
        result = read_weights(info, err);
    if (result == 0)
        result = read_tokenizer(info, err);
    if (result == 0 && info->named_adapter) {
        result = lm_adapter_read(&info->lora, info->named_adapter, err);
        info->has_adapter = result == 0;
    }
    if (result == 0)
        result = lm_backend_open(&backend, "reference", 1, err);
    if (result != 0)
        return result;
    if (info->tokens == 0)
        info->tokens = info->config.positions < 4096 ? info->config.positions : 4096;
    info->whole = cost_of(info, &(struct lm_lora){0}, backend);
    info->adapter = cost_of(info, &info->lora, backend);
    lm_backend_close(backend);
    return 0;
}

static json_t *count_json(uint64_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *cost_json(const struct cost *cost)
{
    json_t *object = json_object();
    json_put(object, "trained", count_json(cost->trained));
    json_put(object, "weights_bytes", count_json(cost->weights));
    json_put(object, "gradients_bytes", count_json(cost->gradients));
    json_put(object, "optimizer_bytes", count_json(cost->optimizer));
    json_put(object, "activations_bytes", count_json(cost->activations));
    json_put(object, "recomputed_activations_bytes", count_json(cost->recomputed));
    return object;
}

static json_t *checkpoint_json(const struct checkpoint *checkpoint)
{
    json_t *object = json_object(), *types = json_object();
    json_put(object, "files", count_json(checkpoint->files));
    json_put(object, "tensors", count_json(checkpoint->tensors));
    json_put(object, "elements", count_json(checkpoint->elements));
    json_put(object, "bytes", count_json(checkpoint->bytes));
    for (size_t i = 0; i < checkpoint->dtype_count; i++)
        json_put(types, checkpoint->dtypes[i].name, count_json(checkpoint->dtypes[i].bytes));
    json_put(object, "bytes_by_type", types);
    return object;
}

static json_t *info_json(const struct info *info)
{
    uint64_t parameters = lm_config_parameters(&info->config);
    json_t *object = json_object(), *bytes = json_object(), *training = json_object();
    json_put(object, "family", json_text(lm_family_name(info->config.family)));
    json_put(object, "parameters", count_json(parameters));
    json_put(bytes, "f32", count_json(4 * parameters));
    json_put(bytes, "bf16", count_json(2 * parameters));
    json_put(bytes, "f16", count_json(2 * parameters));
    json_put(object, "bytes", bytes);
    json_put(object, "context", count_json(info->config.positions));
    json_put(object, "cache_bytes_per_token",
             count_json(lm_cache_position_bytes(&info->config, LM_F32)));
    json_put(object, "config", lm_config_json(&info->config));
    json_put(object, "checkpoint",
             info->has_checkpoint ? checkpoint_json(&info->checkpoint) : json_null());
    json_put(object, "tokenizer_size",
             info->has_tokenizer ? count_json(info->tokenizer_size) : json_null());
    json_put(object, "adapter", info->has_adapter ? lm_adapter_json(&info->lora) : json_null());
    json_put(training, "tokens", count_json(info->tokens));
    json_put(training, "all", cost_json(&info->whole));
    json_put(training, "adapter", cost_json(&info->adapter));
    json_put(object, "training", training);
    return object;
}

static void add_row(struct table *table, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_row(struct table *table, const char *name, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    table_cell(table, STYLE_NONE, "%s", name);
    table_cell(table, STYLE_NONE, "%s", text);
}

/* "1.2 GB"; each caller has its own buffer. */
struct size_text {
    char text[32];
};

static const char *size_string(uint64_t bytes, struct size_text *out)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < COUNT(units)) {
        value /= 1000;
        unit++;
    }
    snprintf(out->text, sizeof out->text, unit > 0 && value < 9.95 ? "%.1f %s" : "%.0f %s", value,
             units[unit]);
    return out->text;
}

static void rope_row(struct table *table, const struct lm_rope_config *rope)
{
    char more[96] = "";
    if (rope->kind == LM_ROPE_LINEAR)
        snprintf(more, sizeof more, ", factor %g", rope->factor);
    else if (rope->kind != LM_ROPE_DEFAULT)
        snprintf(more, sizeof more, ", factor %g on %zu positions", rope->factor,
                 rope->original_positions);
    add_row(table, "rope", "%s, theta %g%s", lm_rope_name(rope->kind), rope->theta, more);
}

static void tokens_row(struct table *table, const struct lm_config *config)
{
    char stops[LM_STOP_TOKENS_MAX * 12] = "none", begin[16] = "none";
    size_t used = 0;
    for (size_t i = 0; i < config->stop_count; i++)
        used += (size_t)snprintf(stops + used, sizeof stops - used, "%s%d", i > 0 ? " " : "",
                                 config->stop_tokens[i]);
    if (config->begin_token >= 0)
        snprintf(begin, sizeof begin, "%d", config->begin_token);
    add_row(table, "tokens", "begin %s, stop %s", begin, stops);
}

static void files_row(struct table *table, const struct info *info)
{
    const struct checkpoint *checkpoint = &info->checkpoint;
    struct size_text text;
    char types[DTYPES * 12] = "";
    size_t used = 0;
    if (!info->has_checkpoint) {
        add_row(table, "files", "no weights here");
        return;
    }
    for (size_t i = 0; i < checkpoint->dtype_count; i++)
        used += (size_t)snprintf(types + used, sizeof types - used, " %s",
                                 checkpoint->dtypes[i].name);
    add_row(table, "files", "%zu tensors in %zu file%s,%s, %s%s", checkpoint->tensors,
            checkpoint->files, checkpoint->files == 1 ? "" : "s", types,
            size_string(checkpoint->bytes, &text),
            checkpoint->elements == lm_config_parameters(&info->config)
                ? ""
                : "; not as many parameters as config.json says");
}

static void cost_row(struct table *table, const char *name, const struct cost *cost)
{
    struct size_text all, less, weights, gradients, state, active;
    uint64_t kept = cost->weights + cost->gradients + cost->optimizer;
    add_row(table, name,
            "%s: weights %s, gradients %s, optimiser %s, activations %s; %s recomputing",
            size_string(kept + cost->activations, &all), size_string(cost->weights, &weights),
            size_string(cost->gradients, &gradients), size_string(cost->optimizer, &state),
            size_string(cost->activations, &active), size_string(kept + cost->recomputed, &less));
}

static void adapter_row(struct table *table, const struct info *info)
{
    char names[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < LM_LORA_TARGET_COUNT; i++)
        if (info->lora.targets & 1U << i)
            used += (size_t)snprintf(names + used, sizeof names - used, " %s",
                                     lm_lora_target_name((enum lm_lora_target)i));
    add_row(table, "adapter", "rank %zu, alpha %g, scale %.4g, %llu parameters on%s",
            info->lora.rank, info->lora.alpha, lm_lora_scale(&info->lora),
            (unsigned long long)info->adapter.trained, names);
}

static struct table *info_table(const struct info *info)
{
    const struct lm_config *config = &info->config;
    struct size_text wide, narrow;
    struct table *table = table_new("|");
    uint64_t parameters = lm_config_parameters(config);
    char training[48], lora[48];
    snprintf(training, sizeof training, "training all, %zu tokens", info->tokens);
    snprintf(lora, sizeof lora, "an adapter of rank %zu", info->lora.rank);
    add_row(table, "model", "%s, %zu layers of width %zu and %zu", lm_family_name(config->family),
            config->layers, config->width, config->inner);
    add_row(table, "attention", "%zu heads of %zu, %zu for keys and values", config->heads,
            config->head_width, config->kv_heads);
    add_row(table, "vocabulary", "%zu%s", config->vocab, config->tied ? ", the head is tied" : "");
    add_row(table, "parameters", "%llu: %s in f32, %s in bf16 or f16",
            (unsigned long long)parameters, size_string(4 * parameters, &wide),
            size_string(2 * parameters, &narrow));
    files_row(table, info);
    rope_row(table, &config->rope);
    add_row(table, "context", "%zu tokens, %s of cache each", config->positions,
            size_string(lm_cache_position_bytes(config, LM_F32), &wide));
    tokens_row(table, config);
    if (info->has_tokenizer)
        add_row(table, "tokenizer", "%zu tokens", info->tokenizer_size);
    else
        add_row(table, "tokenizer", "none here");
    if (info->has_adapter)
        adapter_row(table, info);
    cost_row(table, training, &info->whole);
    cost_row(table, lora, &info->adapter);
    return table;
}

static int info_run(struct cli_call *call, void *context, struct err *err)
{
    struct info *info = context;
    info->directory = call->words.items[0];
    info->tokens = (size_t)info->named_tokens;
    info->lora.rank = (size_t)info->named_rank;
    int result = info_read(info, err);
    if (result == 0 && info->json)
        cli_put_json(call, info_json(info));
    else if (result == 0)
        cli_put_table(call, info_table(info));
    return result;
}

int lm_info_main(struct cli_call *call)
{
    struct info info = {.named_rank = 16,
                        .lora = {.alpha = 1, .targets = (1U << LM_LORA_TARGET_COUNT) - 1}};
    const struct cli_option options[] = {
        OPTION_STRING(0, "adapter", &info.named_adapter, "DIR", "an adapter of the model"),
        OPTION_INT(0, "tokens", &info.named_tokens, 1, INT32_MAX, "N",
                   "tokens of a training step at once; 4096, or the context where it is shorter"),
        OPTION_INT(0, "rank", &info.named_rank, 1, LIMIT_LM_RANK, "N", "of a new adapter (16)"),
        OPTION_FLAG(0, "json", &info.json, "one JSON object"),
        OPTION_END,
    };
    return cli_run(call, options, info_run, &info);
}
