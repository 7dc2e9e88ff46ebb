/* openai_link: the connections to one endpoint, and asking it until it answers.
 *
 * openai_link_ask takes a connection that nobody uses (or opens one), sends, reads, and does so
 * again as retry.h says, up to an answer that is whole or an error in one sentence. What was read
 * of a try that failed is forgotten. Threads: any number ask at once. Errors: as policy.h has them.
 */
#ifndef WARPGYM_POLICY_OPENAI_LINK_H
#define WARPGYM_POLICY_OPENAI_LINK_H

#include "base/settings.h"
#include "client/http_flow.h"

struct openai_link;

/* What is asked, and what becomes of the answer. */
struct openai_exchange {
    struct http_flow_call call;
    void (*begin)(void *context); /* before each try; NULL: nothing */
    /* The answer came with a status of success. ERR_PROTOCOL: it is none, ask again; ERR_IO: it is
     * an error, told by `refusal`. */
    int (*read)(void *context, const struct http_flow_answer *reply, struct err *err);
    /* The status and text of an error that came in place of an answer; 0: there is none. NULL: as
     * if it said so. */
    int (*refusal)(void *context, const char **text);
    void *context;
};

NODISCARD int openai_link_open(struct openai_link **out, const char *url,
                               const struct settings *settings, const _Atomic int *cancelled,
                               struct err *err);
/* NULL is fine. */
void openai_link_close(struct openai_link *link);
/* *asked: how often, after a failure too. *began_ns: when the try began that was answered. */
NODISCARD int openai_link_ask(struct openai_link *link, const struct openai_exchange *exchange,
                              unsigned *asked, int64_t *began_ns, struct err *err);

#endif
