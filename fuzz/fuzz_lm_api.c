/* A request to a model is read or refused with the parameter's name; its conversation has a text in
 * every style, whose turns are as many as were sent. */
#include "base/json.h"
#include "base/limits.h"
#include "server/lm/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void write_all(const struct lm_api_request *request)
{
    struct buf text;
    struct err err;
    buf_init(&text, LIMIT_PROMPT_BYTES);
    for (int style = CHAT_QWEN2; style <= CHAT_THINKER; style++) {
        const struct chat_options options = {(enum chat_style)style, request->thinking, true};
        buf_reset(&text);
        check(chat_text(request->messages, request->message_count, &options, &text, &err) == 0);
        check(strncmp(text.data, "<|im_start|>", 12) == 0 && text.data[text.len - 1] == '\n');
    }
    buf_deinit(&text);
}

static void read_as(const json_t *body, enum lm_api_kind kind)
{
    char param[LM_API_PARAM_MAX];
    struct lm_api_request request;
    struct arena arena = {0};
    struct err err = {0};
    int result = lm_api_request_read(body, kind, &arena, &request, param, &err);
    check(result == 0 || err.text[0]);
    if (result == 0) {
        const struct lm_sampling *sampling = &request.sampling;
        check(request.prompt_count >= 1 && request.samples >= 1);
        check(request.prompt_count * request.samples <= LIMIT_LM_CHOICES);
        check(sampling->temperature >= 0 && sampling->top_p > 0 && sampling->top_p <= 1);
        check(sampling->top_logprobs <= LM_TOP_LOGPROBS_MAX);
        check(sampling->stop_count <= LM_STOPS_MAX);
        if (kind == LM_API_CHAT)
            write_all(&request);
    }
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *body = NULL;
    if (json_parse("body", (const char *)data, size, &body, NULL) < 0)
        return 0;
    read_as(body, LM_API_CHAT);
    read_as(body, LM_API_COMPLETION);
    read_as(body, LM_API_EMBEDDINGS);
    json_decref(body);
    return 0;
}
