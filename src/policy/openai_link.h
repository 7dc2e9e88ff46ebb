/* openai_link: a request to an OpenAI-compatible endpoint, with retries as retry.h decides, until a
 * complete answer or a permanent error. Data of a failed attempt is discarded. Errors: as in
 * policy.h. */
#pragma once

#include "policy/endpoint.h"

/* A request and the handlers of its response. */
struct openai_exchange {
    struct http_flow_call call;
    void (*begin)(void *context); /* before each attempt; NULL: nothing */
    /* The response has a success status. ERR_PROTOCOL: it is malformed, retry; ERR_IO: it is an
     * error, which `refusal` describes. */
    int (*read)(void *context, const struct http_flow_answer *reply, struct err *err);
    /* Status and text of an error sent instead of an answer; 0: none. NULL: none. */
    int (*refusal)(void *context, const char **text);
    void *context;
};

/* *asked: the number of attempts, after a failure too. *began_ns: when the last attempt began. */
NODISCARD int openai_request(struct endpoint *endpoint, const struct openai_exchange *exchange,
                             unsigned *asked, int64_t *began_ns, struct err *err);
