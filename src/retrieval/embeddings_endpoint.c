#include "retrieval/embeddings_source.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/client_settings.h"
#include "client/http_client.h"
#include "retrieval/retrieval_settings.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define REQUEST_BYTES ((size_t)8 << 20)

struct endpoint {
    struct http_client *http;
    char *model;
};

static void endpoint_close(void *source)
{
    struct endpoint *endpoint = source;
    if (!endpoint)
        return;
    http_client_close(endpoint->http);
    mem_free(endpoint->model);
    mem_free(endpoint);
}

static int endpoint_open(void **out, char **model, const struct settings *settings,
                         const _Atomic int *cancelled, struct err *err)
{
    const struct client_settings *client = client_settings(settings);
    const struct retrieval_settings *retrieval = retrieval_settings(settings);
    struct http_client_options options = {
        .url = retrieval->embeddings_url,
        .token = retrieval->embeddings_token,
        .ca_file = client->ca_file,
        .connect_timeout_ms = client->connect_timeout_ms,
        .timeout_ms = client->timeout_ms,
        .retry_budget_ms = client->retry_budget_ms,
        .cancelled = cancelled,
    };
    struct http_client *http;
    if (http_client_open(&http, &options, err) < 0)
        return err_prefix(err, "retrieval.embeddings_url");
    struct endpoint *endpoint = mem_alloc(sizeof *endpoint);
    endpoint->http = http;
    endpoint->model = mem_strdup(retrieval->embeddings_model);
    *model = mem_strdup(endpoint->model);
    *out = endpoint;
    return 0;
}

static int write_request(const struct endpoint *endpoint, const char *const *texts, size_t count,
                         struct buf *body, struct err *err)
{
    json_t *request = json_object();
    json_t *input = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(input, json_text_bytes(texts[i], embeddings_cut(texts[i])));
    json_put(request, "model", json_text(endpoint->model));
    json_put(request, "input", input);
    json_put(request, "encoding_format", json_text("float"));
    int result = json_line_write(request, body, err);
    json_decref(request);
    return result;
}

/* One row, normalised to length 1. */
static int parse_vector(const json_t *numbers, size_t dimension, float *row, struct err *err)
{
    double squares = 0;
    for (size_t i = 0; i < dimension; i++) {
        const json_t *number = json_array_get(numbers, i);
        double value = json_number_value(number);
        if (!json_is_number(number) || !(fabs(value) < 1e30))
            return err_set(err, ERR_PROTOCOL, "an embedding has an element that is not a number");
        row[i] = (float)value;
        squares += value * value;
    }
    double length = sqrt(squares);
    if (!(length > 1e-12))
        return err_set(err, ERR_PROTOCOL, "an embedding is all zeros");
    for (size_t i = 0; i < dimension; i++)
        row[i] = (float)(row[i] / length);
    return 0;
}

static int parse_item(const json_t *item, size_t count, size_t *dimension, float **vectors,
                      bool *seen, struct err *err)
{
    int64_t index = 0;
    json_t *numbers = NULL;
    int result = json_get_int(item, "index", &index, err);
    if (result == 0)
        result = json_get_array(item, "embedding", &numbers, err);
    if (result < 0)
        return err_set(err, ERR_PROTOCOL, "an embedding without index or numbers");
    size_t size = json_array_size(numbers);
    if (index < 0 || (size_t)index >= count || seen[index])
        return err_set(err, ERR_PROTOCOL, "an embedding for a text that was not sent (%lld)",
                       (long long)index);
    if (size == 0 || size > LIMIT_EMBEDDING_DIMENSION)
        return err_set(err, ERR_PROTOCOL, "an embedding of %zu numbers", size);
    if (*dimension != 0 && size != *dimension)
        return err_set(err, ERR_PROTOCOL, "an embedding has %zu numbers instead of %zu", size,
                       *dimension);
    *dimension = size;
    if (!*vectors)
        *vectors = mem_alloc(count * size * sizeof **vectors);
    seen[index] = true;
    return parse_vector(numbers, size, *vectors + (size_t)index * size, err);
}

static int parse_answer(const json_t *answer, size_t count, size_t *dimension, float **vectors,
                        struct err *err)
{
    bool seen[EMBEDDINGS_BATCH] = {false};
    const json_t *data = json_object_get(answer, "data");
    int result = 0;
    *vectors = NULL;
    if (json_array_size(data) != count || count > EMBEDDINGS_BATCH)
        return err_set(err, ERR_PROTOCOL, "%zu embeddings were requested, %zu received", count,
                       json_array_size(data));
    for (size_t i = 0; i < count && result == 0; i++)
        result = parse_item(json_array_get(data, i), count, dimension, vectors, seen, err);
    if (result < 0) {
        mem_free(*vectors);
        *vectors = NULL;
    }
    return result;
}

static int read_answer(struct endpoint *endpoint, const struct http_client_answer *answer,
                       size_t count, size_t *dimension, float **vectors, struct err *err)
{
    json_t *object = NULL;
    const char *url = http_client_url(endpoint->http);
    if (answer->status >= 300)
        return http_client_refusal(endpoint->http, answer, err);
    if (json_parse(url, answer->body, answer->bytes, &object, err) < 0)
        return err_set(err, ERR_PROTOCOL, "%s: the answer is not JSON", url);
    int result = parse_answer(object, count, dimension, vectors, err);
    json_decref(object);
    return result < 0 ? err_prefix(err, "%s", url) : 0;
}

static int endpoint_embed(void *source, const char *const *texts, size_t count, size_t *dimension,
                          float **vectors, struct err *err)
{
    struct endpoint *endpoint = source;
    struct http_client_answer answer = {0};
    struct buf body;
    *vectors = NULL;
    buf_init(&body, REQUEST_BYTES);
    int result = write_request(endpoint, texts, count, &body, err);
    if (result == 0) {
        struct http_client_call call = {
            .method = "POST",
            .target = "/embeddings",
            .body = body.data,
            .body_bytes = body.len,
            .max_bytes = LIMIT_EMBEDDINGS_BYTES,
        };
        result = http_client_send(endpoint->http, &call, &answer, err);
    }
    if (result == 0)
        result = read_answer(endpoint, &answer, count, dimension, vectors, err);
    http_client_answer_deinit(&answer);
    buf_deinit(&body);
    return result;
}

const struct embeddings_source embeddings_endpoint = {endpoint_open, endpoint_embed,
                                                      endpoint_close};
