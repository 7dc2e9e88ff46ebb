/* One request for embeddings: read, encoded and answered by the thread that handles it. */
#include "base/json.h"
#include "base/mem.h"
#include "server/lm/internal.h"
#include "server/lm/request.h"

#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

struct work {
    struct lm_api *api;
    struct arena arena;
    struct lm_api_request request;
    struct tokens *texts; /* [request.prompt_count] */
    size_t tokens;        /* of all */
    float *vectors;       /* [request.prompt_count, width] */
};

static int take_ids(const struct work *work, const struct lm_api_prompt *prompt, struct tokens *out,
                    struct err *err)
{
    int result = lm_embedder_check(work->api->options.embedder, prompt->count, err);
    for (size_t i = 0; i < prompt->count && result == 0; i++)
        result = tokens_add(out, prompt->ids[i], err);
    return result;
}

static int encode_texts(struct work *work, struct err *err)
{
    int result = 0;
    work->texts = mem_alloc(work->request.prompt_count * sizeof *work->texts);
    for (size_t i = 0; i < work->request.prompt_count && result == 0; i++) {
        const struct lm_api_prompt *prompt = &work->request.prompts[i];
        result = prompt->text
                     ? lm_embedder_encode(work->api->options.embedder, prompt->text,
                                          strlen(prompt->text), false, &work->texts[i], err)
                     : take_ids(work, prompt, &work->texts[i], err);
        work->tokens += work->texts[i].count;
    }
    return result;
}

/* The first numbers of a vector, to length 1 again. */
static void shorten(float *vector, size_t count)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (double)vector[i] * vector[i];
    for (size_t i = 0; i < count && squares > 0; i++)
        vector[i] = (float)(vector[i] / sqrt(squares));
}

static json_t *vector_json(const struct work *work, const float *vector, size_t count)
{
    if (!work->request.base64)
        return json_numbers(vector, count);
    const size_t bytes = count * sizeof *vector;
    char *text = mem_alloc(4 * ((bytes + 2) / 3) + 1);
    EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)vector, (int)bytes);
    json_t *value = json_text(text);
    mem_free(text);
    return value;
}

static json_t *answer_json(struct work *work)
{
    const size_t width = lm_embedder_width(work->api->options.embedder);
    const size_t count = work->request.dimensions ? work->request.dimensions : width;
    const json_int_t tokens = (json_int_t)work->tokens;
    json_t *data = json_array(), *answer = json_object();
    for (size_t i = 0; i < work->request.prompt_count; i++) {
        float *vector = work->vectors + i * width;
        json_t *item = json_object();
        if (count < width)
            shorten(vector, count);
        json_put(item, "object", json_text("embedding"));
        json_put(item, "index", json_integer((json_int_t)i));
        json_put(item, "embedding", vector_json(work, vector, count));
        json_array_append_new(data, item);
    }
    json_put(answer, "object", json_text("list"));
    json_put(answer, "data", data);
    json_put(answer, "model", json_text(work->api->model));
    json_put(answer, "usage",
             json_pack("{s:I, s:I}", "prompt_tokens", tokens, "total_tokens", tokens));
    return answer;
}

/* The first request prepares the embedder; if that fails, it is not the request's fault. */
static int run_embedder(struct work *work, struct err *err)
{
    struct lm_api *api = work->api;
    pthread_mutex_lock(&api->embedding);
    int result = lm_embedder_prepare(api->options.embedder, err);
    if (result < 0)
        result = err->code = ERR_INTERNAL;
    else
        result = lm_embedder_run(api->options.embedder, work->texts, work->request.prompt_count,
                                 work->vectors, err);
    pthread_mutex_unlock(&api->embedding);
    return result;
}

static int embed_texts(struct work *work, char param[LM_API_PARAM_MAX], struct err *err)
{
    const size_t width = lm_embedder_width(work->api->options.embedder);
    if (work->request.dimensions > width) {
        snprintf(param, LM_API_PARAM_MAX, "dimensions");
        return err_set(err, ERR_INPUT, "'dimensions' is %zu; this model's vectors have %zu numbers",
                       work->request.dimensions, width);
    }
    int result = encode_texts(work, err);
    if (result < 0)
        return result;
    work->vectors = mem_alloc(work->request.prompt_count * width * sizeof *work->vectors);
    return run_embedder(work, err);
}

void lm_api_embed(void *context, struct http_request *request, struct http_response *response)
{
    struct work work = {.api = context};
    char param[LM_API_PARAM_MAX];
    struct err err;
    json_t *body = lm_api_body(work.api, request, response);
    if (!body)
        return;
    if (lm_api_request_read(body, LM_API_EMBEDDINGS, &work.arena, &work.request, param, &err) < 0)
        lm_api_refuse_request(response, param, &err);
    else if (lm_api_has_model(work.api, work.request.model, response)) {
        if (embed_texts(&work, param, &err) < 0)
            lm_api_refuse_request(response, param, &err);
        else
            http_set_json(response, answer_json(&work));
    }
    for (size_t i = 0; work.texts && i < work.request.prompt_count; i++)
        tokens_deinit(&work.texts[i]);
    mem_free(work.texts);
    mem_free(work.vectors);
    arena_deinit(&work.arena);
}
