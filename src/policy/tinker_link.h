/* tinker_link: requests to a Tinker server, with retries.
 *
 * A request that failed temporarily is repeated with the same body (so with the same seq_id: the
 * server performs it once):
 *
 *   429, 5xx, 408, 409, 425, a lost connection   with growing pauses, for policy.retry_budget_ms
 *   no answer at all                             at once, for policy.timeout_ms
 *   402                                          every 5 s, as long as the server asks for
 *   400 of a poll, a success without JSON        3 times for a poll, 16 otherwise
 *   an empty 400                                 the same
 *   any other status but success                 an error with the server's message
 *
 * A future is polled for policy.future_timeout_ms. A shutdown link is not cancelled; each request
 * on it, and then each future, takes policy.shutdown_timeout_ms at most, not everything together.
 * It presumes that the server has answered on another link before.
 *
 * The key appears in no message. Threads: any number may call at once, each on a connection of its
 * own. Errors: ERR_INPUT, ERR_IO, ERR_TIMEOUT, ERR_LIMIT, ERR_PROTOCOL (a malformed answer, or the
 * server has lost this client's state), ERR_CANCELLED; ERR_MISSING only from tinker_await: the
 * server has lost the future.
 */
#pragma once

#include "base/buf.h"
#include "base/settings.h"
#include "policy/tinker_token.h"

#include <jansson.h>
#include <stdbool.h>

struct tinker_link;

struct tinker_link_options {
    const char *url;
    struct tinker_token *token;      /* borrowed; NULL: the key alone is sent */
    const struct settings *settings; /* policy.*; borrowed */
    const _Atomic int *cancelled;
    size_t at_once; /* connections that are kept open */
    bool known;     /* the server has answered before */
    bool shutdown;  /* for requests after a cancellation */
};

NODISCARD int tinker_link_open(struct tinker_link **out, const struct tinker_link_options *options,
                               struct err *err);
/* NULL is fine. */
void tinker_link_close(struct tinker_link *link);
/* How long a 402 is retried; 3600 s unless the server says otherwise. */
void tinker_link_set_unpaid(struct tinker_link *link, double seconds);

/* As JSON, a new reference. */
typedef int tinker_decode(const void *bytes, size_t count, json_t **out, struct err *err);

/* A 400 with words is the server's answer to a poll (SkyRL's), no proxy's: it is not repeated. */
void tinker_link_set_plain(struct tinker_link *link);

struct tinker_call {
    const char *method, *target;
    const struct buf *body; /* NULL: none */
    const char *content;    /* its media type; NULL: JSON */
    tinker_decode *decode;  /* reads a result in protocol buffers; NULL: JSON alone is wanted */
    char **location;        /* where a redirection points to, the caller's; NULL: not wanted */
    int accepted;           /* a further status that is not an error; 0: none */
    bool once;              /* one attempt, of a few seconds at most */
    bool owned;             /* it names state on the server: a 404 means that it is lost */
    bool resend;            /* an earlier call did not show whether the server took it */
};

struct tinker_sent {
    int status;   /* of the last answer; 0: none */
    bool unknown; /* whether the server took it is unknown */
};
static inline bool tinker_was_taken(const struct tinker_sent *sent)
{
    return !sent->unknown && sent->status >= 200 && sent->status < 300;
}

/* *answer is the caller's reference, or NULL without a body; *sent may be NULL. */
NODISCARD int tinker_send(struct tinker_link *link, const struct tinker_call *call, json_t **answer,
                          struct tinker_sent *sent, struct err *err);
/* A request that the server answers with a future: its id (mem_free); NULL with an accepted
 * status. */
NODISCARD int tinker_submit(struct tinker_link *link, const struct tinker_call *call, char **id,
                            struct tinker_sent *sent, struct err *err);
/* What was promised. */
NODISCARD int tinker_await(struct tinker_link *link, const char *id, const struct tinker_call *call,
                           json_t **result, struct err *err);
/* Submits and awaits. *result NULL with an accepted status. */
NODISCARD int tinker_do(struct tinker_link *link, const struct tinker_call *call, json_t **result,
                        struct tinker_sent *sent, struct err *err);
