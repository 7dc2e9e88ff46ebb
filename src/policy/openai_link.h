/* openai_link: the connections to one endpoint, and requests with retries.
 *
 * openai_link_request takes an idle connection (or opens one), sends, reads, and retries as retry.h
 * decides, until a complete answer or a permanent error. Data of a failed attempt is discarded.
 * Threads: any number may call at once. Errors: as in policy.h.
 */
#pragma once

#include "base/settings.h"
#include "client/http_flow.h"

struct openai_link;

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

NODISCARD int openai_link_open(struct openai_link **out, const char *url,
                               const struct settings *settings, const _Atomic int *cancelled,
                               struct err *err);
/* NULL is fine. */
void openai_link_close(struct openai_link *link);
/* *asked: the number of attempts, after a failure too. *began_ns: when the successful attempt
 * began. */
NODISCARD int openai_link_request(struct openai_link *link, const struct openai_exchange *exchange,
                                  unsigned *asked, int64_t *began_ns, struct err *err);
