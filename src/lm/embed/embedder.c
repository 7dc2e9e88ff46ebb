#include "lm/embed/embedder.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/model/pass.h"

#include <math.h>
#include <string.h>

#define POOLING_FILE "1_Pooling/config.json"
#define POOLING_BYTES ((size_t)64 << 10)

enum pooling { POOL_LAST, POOL_MEAN, POOLINGS };

static const struct {
    const char *name, *key; /* key: of the file, that is true */
} poolings[] = {
    [POOL_LAST] = {"last token", "pooling_mode_lasttoken"},
    [POOL_MEAN] = {"mean", "pooling_mode_mean_tokens"},
};

struct lm_embedder {
    struct lm_embedder_options options;
    enum pooling pooling;
    size_t width, longest;
    /* NULL: not yet */
    struct lm_backend *backend; /* of the twin */
    struct lm_model *twin;
    struct lm_pass *pass;
    /* of one batch */
    int32_t *tokens, *starts;
    float *hidden; /* [longest, width] */
};

static int choose_pooling(const json_t *document, enum pooling *pooling, struct err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)document, key, value)
    {
        if (strncmp(key, "pooling_mode_", strlen("pooling_mode_")) != 0 || !json_is_true(value))
            continue;
        size_t at = 0;
        while (at < POOLINGS && strcmp(key, poolings[at].key) != 0)
            at++;
        if (at == POOLINGS)
            return err_set(err, ERR_UNSUPPORTED,
                           "'%.60s' is not supported: the vector of a text is its last token's or "
                           "the mean of all",
                           key);
        *pooling = (enum pooling)at;
    }
    return 0;
}

static int read_pooling(const char *directory, enum pooling *pooling, struct err *err)
{
    json_t *document = NULL;
    char *path = mem_printf("%s/" POOLING_FILE, directory);
    int result = 0;
    if (file_exists(path)) {
        result = json_file_read(path, POOLING_BYTES, &document, err);
        if (result == 0 && (result = choose_pooling(document, pooling, err)) < 0)
            result = err_prefix(err, "%s", path);
    }
    json_decref(document);
    mem_free(path);
    return result;
}

int lm_embedder_open(struct lm_embedder **out, const struct lm_embedder_options *options,
                     struct err *err)
{
    struct lm_embedder *embedder = mem_alloc(sizeof *embedder);
    const size_t positions = options->model->positions;
    embedder->options = *options;
    embedder->width = options->model->config.width;
    embedder->longest = positions < LIMIT_LM_EMBEDDED_TOKENS ? positions : LIMIT_LM_EMBEDDED_TOKENS;
    int result = read_pooling(options->directory, &embedder->pooling, err);
    if (result < 0) {
        lm_embedder_close(embedder);
        return result;
    }
    *out = embedder;
    return 0;
}

static void close_pass(struct lm_embedder *embedder)
{
    lm_pass_close(embedder->pass);
    lm_model_close(embedder->twin);
    lm_backend_close(embedder->backend);
    embedder->pass = NULL;
    embedder->twin = NULL;
    embedder->backend = NULL;
}

void lm_embedder_close(struct lm_embedder *embedder)
{
    if (!embedder)
        return;
    close_pass(embedder);
    mem_free(embedder->tokens);
    mem_free(embedder->starts);
    mem_free(embedder->hidden);
    mem_free(embedder);
}

static int open_pass(struct lm_embedder *embedder, struct err *err)
{
    const struct lm_embedder_options *options = &embedder->options;
    const struct lm_pass_options pass = {.rows = embedder->longest, .head_rows = 1};
    int result = 0;
    if (options->backend)
        result = lm_backend_open(&embedder->backend, options->backend, options->threads, err);
    if (result == 0 && options->backend)
        result = lm_model_twin(&embedder->twin, options->model, embedder->backend, err);
    return result < 0
               ? result
               : lm_pass_open(&embedder->pass, options->backend ? embedder->twin : options->model,
                              &pass, err);
}

int lm_embedder_prepare(struct lm_embedder *embedder, struct err *err)
{
    if (embedder->pass)
        return 0;
    int result = open_pass(embedder, err);
    if (result < 0) {
        close_pass(embedder);
        return result;
    }
    embedder->tokens = mem_alloc(embedder->longest * sizeof *embedder->tokens);
    embedder->starts = mem_alloc((embedder->longest + 1) * sizeof *embedder->starts);
    embedder->hidden = mem_alloc(embedder->longest * embedder->width * sizeof *embedder->hidden);
    return 0;
}

const char *lm_embedder_pooling(const struct lm_embedder *embedder)
{
    return poolings[embedder->pooling].name;
}

size_t lm_embedder_width(const struct lm_embedder *embedder)
{
    return embedder->width;
}

int lm_embedder_check(const struct lm_embedder *embedder, size_t tokens, struct err *err)
{
    if (tokens == 0)
        return err_set(err, ERR_INPUT, "a text without a token cannot be embedded");
    if (tokens > embedder->longest)
        return err_set(err, ERR_LIMIT, "a text has %zu tokens; at most %zu can be embedded", tokens,
                       embedder->longest);
    return 0;
}

int lm_embedder_encode(const struct lm_embedder *embedder, const char *text, size_t bytes, bool cut,
                       struct tokens *out, struct err *err)
{
    const struct tokenizer_encoding how = {.begin = true};
    out->count = 0;
    int result = tokenizer_encode(embedder->options.tokenizer, text, bytes, &how, out, err);
    if (result < 0)
        return result;
    if (!cut || out->count <= embedder->longest)
        return lm_embedder_check(embedder, out->count, err);
    out->ids[embedder->longest - 1] = out->ids[out->count - 1];
    out->count = embedder->longest;
    return 0;
}

/* The vector of the text whose hidden rows these are. */
static int pool(const struct lm_embedder *embedder, const float *hidden, size_t rows, float *vector,
                struct err *err)
{
    const size_t width = embedder->width;
    const size_t first = embedder->pooling == POOL_LAST ? rows - 1 : 0;
    double squares = 0;
    for (size_t i = 0; i < width; i++) {
        double sum = 0;
        for (size_t row = first; row < rows; row++)
            sum += hidden[row * width + i];
        vector[i] = (float)(sum / (double)(rows - first));
        squares += (double)vector[i] * vector[i];
    }
    const double length = sqrt(squares);
    if (!(length > 1e-12 && length < INFINITY))
        return err_set(err, ERR_PROTOCOL, "the model gives a text a vector of length %g", length);
    for (size_t i = 0; i < width; i++)
        vector[i] = (float)(vector[i] / length);
    return 0;
}

/* How many of the texts fit one batch; sets its tokens. */
static size_t fill_batch(struct lm_embedder *embedder, const struct tokens *texts, size_t count,
                         struct lm_batch *batch)
{
    *batch = (struct lm_batch){.tokens = embedder->tokens, .starts = embedder->starts};
    embedder->starts[0] = 0;
    for (size_t i = 0; i < count && batch->rows + texts[i].count <= embedder->longest; i++) {
        memcpy(embedder->tokens + batch->rows, texts[i].ids, texts[i].count * sizeof *texts[i].ids);
        batch->rows += texts[i].count;
        embedder->starts[++batch->sequences] = (int32_t)batch->rows;
    }
    return batch->sequences;
}

int lm_embedder_run(struct lm_embedder *embedder, const struct tokens *texts, size_t count,
                    float *vectors, struct err *err)
{
    struct lm_batch batch;
    int result = lm_embedder_prepare(embedder, err);
    for (size_t done = 0; done < count && result == 0; done += batch.sequences) {
        if (fill_batch(embedder, texts + done, count - done, &batch) == 0)
            return err_set(err, ERR_INPUT, "text %zu has %zu tokens; at most %zu can be embedded",
                           done, texts[done].count, embedder->longest);
        result = lm_pass_hidden(embedder->pass, &batch, embedder->hidden, err);
        for (size_t i = 0; i < batch.sequences && result == 0; i++) {
            const size_t start = (size_t)batch.starts[i];
            result = pool(embedder, embedder->hidden + start * embedder->width,
                          (size_t)batch.starts[i + 1] - start,
                          vectors + (done + i) * embedder->width, err);
        }
    }
    return result;
}
