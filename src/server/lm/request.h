/* lm_api_request: what a client asks a model for, in OpenAI's words, as the sampler's settings.
 *
 * Every parameter is taken, known to change nothing, or refused by name: none is dropped in
 * silence. Parameters that OpenAI's API does not have (top_k, min_p, stop_token_ids, ignore_eos,
 * return_token_ids, chat_template_kwargs) are called as vLLM calls them.
 */
#ifndef WARPGYM_SERVER_LM_REQUEST_H
#define WARPGYM_SERVER_LM_REQUEST_H

#include "base/json.h"
#include "base/mem.h"
#include "lm/sample/sampler.h"
#include "lm/tokenizer/chat.h"

#define LM_API_PARAM_MAX 48
#define LM_API_COMPLETION_TOKENS 16 /* where a completion's request does not say */

/* A text, or ids. */
struct lm_api_prompt {
    const char *text;
    const int32_t *ids;
    size_t count; /* of the ids */
};

struct lm_api_request {
    const char *model; /* NULL: whichever there is */
    /* A chat's conversation, or a completion's prompts. */
    struct chat_message *messages;
    size_t message_count;
    bool thinking; /* asked for, or left open */
    struct lm_api_prompt *prompts;
    size_t prompt_count; /* 1 of a chat */
    size_t samples;      /* of each prompt */
    struct lm_sampling sampling;
    bool seeded;     /* else sampling.seed is the caller's to draw */
    bool score_only; /* nothing is to be sampled: max_tokens is 0, and the prompt is echoed */
    bool echo, logprobs, token_ids;
    bool stream, usage; /* usage: in a chunk of its own at the stream's end */
};

/* All that `out` points to lies in the arena or in `body`. On an error `param` names the
 * parameter ("" where none is to blame) and ERR_UNSUPPORTED says that it is one that this server
 * does not have. */
NODISCARD int lm_api_request_read(const json_t *body, bool chat, struct arena *arena,
                                  struct lm_api_request *out, char param[LM_API_PARAM_MAX],
                                  struct err *err);

#endif
