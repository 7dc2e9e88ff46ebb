/* lm_api_request: a client's request in OpenAI's format, as the sampler's settings.
 *
 * Every parameter is applied, known to change nothing, or refused by name: none is silently
 * dropped. Parameters that OpenAI's API does not have (top_k, min_p, stop_token_ids, ignore_eos,
 * return_token_ids, chat_template_kwargs) have vLLM's names. */
#pragma once

#include "base/json.h"
#include "base/mem.h"
#include "lm/sample/sampler.h"
#include "lm/tokenizer/chat.h"

#define LM_API_PARAM_MAX 48
#define LM_API_COMPLETION_TOKENS 16 /* a completion's default */

/* A text, or ids. */
struct lm_api_prompt {
    const char *text;
    const int32_t *ids;
    size_t count; /* of the ids */
};

/* What is asked for; a bit each. */
enum lm_api_kind { LM_API_CHAT = 1, LM_API_COMPLETION = 2, LM_API_EMBEDDINGS = 4 };

struct lm_api_request {
    const char *model; /* NULL: the server's model */
    /* A chat's conversation, or a completion's prompts, or the texts that are to be embedded. */
    struct chat_message *messages;
    size_t message_count;
    bool thinking; /* requested, or unspecified */
    struct lm_api_prompt *prompts;
    size_t prompt_count; /* 1 of a chat */
    size_t samples;      /* of each prompt */
    struct lm_sampling sampling;
    bool seeded;     /* else the caller draws sampling.seed */
    bool score_only; /* sample nothing: max_tokens is 0, and the prompt is echoed */
    bool echo, logprobs, token_ids;
    bool stream, usage; /* usage: in a separate chunk at the stream's end */
    bool base64;        /* embeddings as text, not as numbers */
    size_t dimensions;  /* the first of an embedding; 0: all */
};

/* All that `out` points to is in the arena or in `body`. On an error `param` names the parameter
 * ("" if none is at fault); ERR_UNSUPPORTED: the server does not support it. */
NODISCARD int lm_api_request_read(const json_t *body, enum lm_api_kind kind, struct arena *arena,
                                  struct lm_api_request *out, char param[LM_API_PARAM_MAX],
                                  struct err *err);
