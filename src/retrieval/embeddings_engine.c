#include "retrieval/embeddings_source.h"

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/embed/embedder.h"
#include "retrieval/retrieval_settings.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP 4                  /* texts between two looks at `cancelled` */
#define PIECE ((size_t)64 << 10) /* of a file, that the digest reads */
#define PIECES 16                /* of one file, evenly spread */
#define DIGEST_DIGITS 16

struct engine {
    const _Atomic int *cancelled;
    struct lm_backend *backend;
    struct lm_model *model;
    struct tokenizer *tokenizer;
    struct lm_embedder *embedder;
};

/* Its size, and pieces of it: two models differ in them, and no gigabytes are read. */
static int digest_file(struct hash *hash, const char *directory, const char *name, struct err *err)
{
    struct stat status = {0};
    char *path = mem_printf("%s/%s", directory, name);
    char *piece = mem_alloc(PIECE);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int result = fd < 0 || fstat(fd, &status) < 0 ? err_set(err, ERR_IO, "cannot read %s", path)
                                                  : 0;
    for (off_t i = 0; i < PIECES && result == 0; i++) {
        ssize_t count = pread(fd, piece, PIECE, status.st_size / PIECES * i);
        if (count < 0)
            result = err_set(err, ERR_IO, "cannot read %s", path);
        else
            hash_update(hash, piece, (size_t)count);
    }
    if (result == 0)
        hash_update(hash, &status.st_size, sizeof status.st_size);
    hash_update_string(hash, name);
    if (fd >= 0)
        close(fd);
    mem_free(piece);
    mem_free(path);
    return result;
}

static int is_weights(const struct dirent *entry)
{
    const char *ending = strrchr(entry->d_name, '.');
    return ending && strcmp(ending, ".safetensors") == 0;
}

/* *model: the directory's last part, and a digest of what decides the vectors. */
static int name_model(const char *directory, const struct engine *engine, char **model,
                      struct err *err)
{
    static const char *const files[] = {"config.json", "tokenizer.json"};
    char hex[HASH_HEX_BYTES];
    struct hash *hash = hash_new();
    struct dirent **weights = NULL;
    int result = 0;
    hash_update_string(hash, lm_embedder_pooling(engine->embedder));
    for (size_t i = 0; i < COUNT(files) && result == 0; i++)
        result = digest_file(hash, directory, files[i], err);
    int count = scandir(directory, &weights, is_weights, alphasort);
    for (int i = 0; i < count; i++) {
        if (result == 0)
            result = digest_file(hash, directory, weights[i]->d_name, err);
        free(weights[i]);
    }
    free(weights);
    hash_finish(hash, hex);
    char *plain = file_plain(directory);
    if (result == 0)
        *model = mem_printf("%s (%.*s)", file_basename(plain), DIGEST_DIGITS, hex);
    mem_free(plain);
    return result;
}

static void engine_close(void *source)
{
    struct engine *engine = source;
    if (!engine)
        return;
    lm_embedder_close(engine->embedder);
    tokenizer_close(engine->tokenizer);
    lm_model_close(engine->model);
    lm_backend_close(engine->backend);
    mem_free(engine);
}

static int engine_open(void **out, char **model, const struct settings *settings,
                       const _Atomic int *cancelled, struct err *err)
{
    const char *directory = retrieval_settings(settings)->embeddings_model;
    const struct lm_model_options options = {.training = LM_FROZEN};
    struct lm_embedder_options embedder = {.directory = directory};
    struct engine *engine = mem_alloc(sizeof *engine);
    engine->cancelled = cancelled;
    int result = lm_backend_open(&engine->backend, "cpu", 0, err);
    if (result == 0)
        result = lm_model_open(&engine->model, directory, engine->backend, &options, err);
    if (result == 0)
        result = tokenizer_open(&engine->tokenizer, directory, err);
    embedder.model = engine->model;
    embedder.tokenizer = engine->tokenizer;
    if (result == 0)
        result = lm_embedder_open(&engine->embedder, &embedder, err);
    if (result == 0)
        result = name_model(directory, engine, model, err);
    if (result < 0) {
        engine_close(engine);
        return err_prefix(err, "retrieval.embeddings_model, without retrieval.embeddings_url the "
                               "directory of a model");
    }
    *out = engine;
    return 0;
}

static int embed_group(struct engine *engine, const char *const *texts, size_t count,
                       float *vectors, struct err *err)
{
    struct tokens tokens[GROUP] = {{0}};
    int result = 0;
    if (engine->cancelled && *engine->cancelled)
        return err_set(err, ERR_CANCELLED, "cancelled");
    for (size_t i = 0; i < count && result == 0; i++)
        result = lm_embedder_encode(engine->embedder, texts[i], embeddings_cut(texts[i]), true,
                                    &tokens[i], err);
    if (result == 0)
        result = lm_embedder_run(engine->embedder, tokens, count, vectors, err);
    for (size_t i = 0; i < count; i++)
        tokens_deinit(&tokens[i]);
    return result;
}

static int engine_embed(void *source, const char *const *texts, size_t count, size_t *dimension,
                        float **vectors, struct err *err)
{
    struct engine *engine = source;
    const size_t width = lm_embedder_width(engine->embedder);
    int result = 0;
    if (*dimension != 0 && *dimension != width)
        return err_set(err, ERR_INPUT, "the index has vectors of %zu numbers, the model of %zu",
                       *dimension, width);
    *dimension = width;
    *vectors = mem_alloc(count * width * sizeof **vectors);
    for (size_t i = 0; i < count && result == 0; i += GROUP)
        result = embed_group(engine, texts + i, count - i < GROUP ? count - i : GROUP,
                             *vectors + i * width, err);
    if (result < 0) {
        mem_free(*vectors);
        *vectors = NULL;
    }
    return result;
}

const struct embeddings_source embeddings_engine = {engine_open, engine_embed, engine_close};
