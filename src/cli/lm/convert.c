/* lm convert: rewrites a model's files. */
#include "cli/lm/lm.h"

#include "base/file.h"
#include "base/mem.h"
#include "lm/model/model.h"
#include "lm/weights/safetensors.h"
#include "lm/weights/sidecar_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const dtype_names[] = {
    [LM_F32] = "f32", [LM_BF16] = "bf16", [LM_F16] = "f16", NULL};

struct conversion {
    const char *model, *out; /* model NULL: fresh */
    const char *fresh, *merge, *adapter;
    int dtype; /* enum lm_dtype; -1: as in MODEL */
    int64_t seed, shard_mib;
};

/* OUT must not exist, or be an empty directory. */
static int refuse_present(const char *path, struct err *err)
{
    DIR *stream = opendir(path);
    const struct dirent *entry;
    bool empty = true;
    if (!stream && errno == ENOENT)
        return 0;
    if (!stream)
        return err_sys(err, errno, "cannot write to %s", path);
    while (empty && (entry = readdir(stream)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(stream);
    return empty ? 0 : err_set(err, ERR_INPUT, "%s is not empty; name another directory", path);
}

/* A directory beside OUT, renamed to OUT when complete: a crash in the middle leaves no partial
 * model under that name. */
static int make_beside(const char *out, char **made, struct err *err)
{
    char *plain = file_plain(out), *parent = file_parent(plain);
    *made = mem_printf("%s.XXXXXX", plain);
    mem_free(plain);
    int result = file_make_directories(parent, 0755, err);
    mem_free(parent);
    if (result == 0 && !mkdtemp(*made))
        result = err_sys(err, errno, "cannot create %s", out);
    else if (result == 0 && chmod(*made, 0755) < 0)
        result = err_sys(err, errno, "cannot set the mode of %s", out);
    if (result < 0) {
        mem_free(*made);
        *made = NULL;
    }
    return result;
}

/* The embedding's type, as most models have one type. */
static enum lm_dtype kept_dtype(const char *directory)
{
    struct safetensors *set = NULL;
    enum lm_dtype dtype = LM_F32;
    if (safetensors_open(&set, directory, NULL) == 0) {
        const struct lm_tensor *tensor = safetensors_find(set, "model.embed_tokens.weight");
        if (tensor && tensor->readable)
            dtype = tensor->dtype;
    }
    safetensors_close(set);
    return dtype;
}

static int open_model(struct lm_model **model, const struct conversion *conversion,
                      struct lm_backend *backend, struct err *err)
{
    struct lm_model_options options = {
        .adapter = conversion->merge ? conversion->merge : conversion->adapter,
        .seed = (uint64_t)conversion->seed,
        .positions = 1, /* nothing is computed with it */
    };
    struct lm_config config;
    if (!conversion->fresh)
        return lm_model_open(model, conversion->model, backend, &options, err);
    int result = lm_config_file(conversion->fresh, &config, err);
    if (result < 0)
        return result;
    return lm_model_fresh(model, &config, backend, &options, err);
}

static int save_model(struct lm_model *model, const struct conversion *conversion,
                      const char *directory, struct err *err)
{
    enum lm_dtype dtype = conversion->dtype >= 0 ? (enum lm_dtype)conversion->dtype
                          : conversion->model    ? kept_dtype(conversion->model)
                                                 : LM_F32;
    if (conversion->adapter)
        return lm_model_save_adapter(model, directory, err);
    int result = lm_model_save(model, directory, dtype, conversion->merge != NULL, err);
    if (result == 0 && conversion->shard_mib > 0)
        result = safetensors_split(directory, (uint64_t)conversion->shard_mib << 20, err);
    const char *from = conversion->model ? conversion->model : conversion->fresh;
    if (result == 0 && file_is_directory(from))
        result = lm_sidecar_files_copy(from, directory, err);
    return result;
}

/* Why the arguments are invalid, or NULL. */
static const char *arguments_error(const struct conversion *conversion, size_t words)
{
    size_t wanted = conversion->fresh ? 1 : 2;
    if (words != wanted)
        return conversion->fresh ? "--fresh takes one directory, OUT" : "name MODEL and OUT";
    if (!!conversion->fresh + !!conversion->merge + !!conversion->adapter > 1)
        return "--fresh, --merge and --adapter exclude each other";
    if (conversion->adapter && (conversion->dtype >= 0 || conversion->shard_mib > 0))
        return "an adapter is written in f32, into one file";
    return NULL;
}

static int convert_run(struct cli_call *call, void *context, struct err *err)
{
    struct conversion *conversion = context;
    const char *why = arguments_error(conversion, call->words.count);
    struct lm_backend *backend = NULL;
    struct lm_model *model = NULL;
    char *beside = NULL;
    if (why)
        return cli_usage(call, "%s", why);
    conversion->model = conversion->fresh ? NULL : call->words.items[0];
    conversion->out = call->words.items[call->words.count - 1];
    int result = refuse_present(conversion->out, err);
    if (result == 0)
        result = lm_backend_open(&backend, "reference", 1, err);
    if (result == 0)
        result = open_model(&model, conversion, backend, err);
    if (result == 0)
        result = make_beside(conversion->out, &beside, err);
    if (result == 0)
        result = save_model(model, conversion, beside, err);
    if (result == 0 && rename(beside, conversion->out) < 0)
        result = err_sys(err, errno, "cannot rename %s into place", conversion->out);
    if (result == 0)
        buf_printf(&call->out, "%s: %llu parameters\n", conversion->out,
                   (unsigned long long)(conversion->adapter
                                            ? lm_lora_parameters(&model->lora, &model->config)
                                            : lm_config_parameters(&model->config)));
    if (result < 0 && beside)
        file_remove_tree(beside);
    mem_free(beside);
    lm_model_close(model);
    lm_backend_close(backend);
    return result;
}

int lm_convert_main(struct cli_call *call)
{
    struct conversion conversion = {.dtype = -1};
    const struct cli_option options[] = {
        OPTION_CHOICE(0, "dtype", &conversion.dtype, dtype_names, "TYPE",
                      "type of the weights; as in MODEL, f32 for fresh ones"),
        OPTION_INT(0, "shard-mib", &conversion.shard_mib, 1, (int64_t)1 << 30, "N",
                   "several files of at most N MiB and an index, instead of one file"),
        OPTION_STRING(0, "merge", &conversion.merge, "ADAPTER",
                      "merge an adapter (a directory in PEFT's format) into the weights"),
        OPTION_STRING(0, "adapter", &conversion.adapter, "ADAPTER",
                      "write this adapter alone, after checking it against MODEL"),
        OPTION_STRING(0, "fresh", &conversion.fresh, "CONFIG",
                      "draw weights for a config.json, or the one of a directory"),
        OPTION_INT(0, "seed", &conversion.seed, 0, (int64_t)1 << 53, "N", "of fresh weights (0)"),
        OPTION_END,
    };
    return cli_run(call, options, convert_run, &conversion);
}
