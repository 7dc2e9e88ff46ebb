/* tinker_link: asking a Tinker server until it answers.
 *
 * A request that failed in passing is made again, with the same body (so with the same seq_id: the
 * server does nothing twice):
 *
 *   429, 5xx, 408, 409, 425, a lost connection   later and later, for policy.patience_ms
 *   no answer at all                             at once, for policy.timeout_ms
 *   402                                          every 5 s, as long as the server asks for
 *   400 of a poll, a success that is no JSON     3 times for a poll, 16 otherwise
 *   an empty 400                                 the same
 *   what else is no success                      an error, in the server's words
 *
 * What was promised is polled for policy.promise_timeout_ms. A link for parting is not cancelled;
 * each request on it, and then what was promised, takes policy.parting_timeout_ms at most, not
 * everything together. It is for somebody who has been answered on another link before.
 *
 * The key is in no message. Threads: any number ask at once, each on a connection of its own.
 * Errors: ERR_INPUT, ERR_IO, ERR_TIMEOUT, ERR_LIMIT, ERR_PROTOCOL (no answer of the protocol, or
 * the server has forgotten what it held for us), ERR_CANCELLED; ERR_MISSING from tinker_await
 * alone: the server has lost what it promised.
 */
#ifndef WARPGYM_POLICY_TINKER_LINK_H
#define WARPGYM_POLICY_TINKER_LINK_H

#include "base/buf.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>

struct tinker_link;

struct tinker_link_options {
    const char *url;
    const struct settings *settings; /* policy.*; borrowed */
    const _Atomic int *cancelled;
    size_t at_once; /* connections that are kept */
    bool parting;   /* for what is still to be done when everything else is cancelled */
};

NODISCARD int tinker_link_open(struct tinker_link **out, const struct tinker_link_options *options,
                               struct err *err);
/* NULL is fine. */
void tinker_link_close(struct tinker_link *link);
/* How long a 402 is waited out; 3600 s unless the server says otherwise. */
void tinker_link_set_unpaid(struct tinker_link *link, double seconds);

struct tinker_call {
    const char *method, *target;
    const struct buf *body; /* NULL: none */
    int fine;               /* a status beside success that is the caller's to read; 0: none */
    bool once;              /* no second try; and not for longer than a few seconds */
    bool ours;              /* it names what the server holds for us: with 404 that is lost */
    bool again;             /* an earlier call left open whether the server has taken this one */
};

struct tinker_sent {
    int status;   /* of the last answer; 0: none came */
    bool unknown; /* the server may have taken it, or may not: nothing that came tells */
};
static inline bool tinker_was_taken(const struct tinker_sent *sent)
{
    return !sent->unknown && sent->status >= 200 && sent->status < 300;
}

/* *answer is the caller's reference, or NULL where it had no body; *sent may be NULL. */
NODISCARD int tinker_ask(struct tinker_link *link, const struct tinker_call *call, json_t **answer,
                         struct tinker_sent *sent, struct err *err);
/* A request that takes its time: its promise's id (mem_free); NULL with a status that is fine. */
NODISCARD int tinker_submit(struct tinker_link *link, const struct tinker_call *call, char **id,
                            struct tinker_sent *sent, struct err *err);
/* What was promised. */
NODISCARD int tinker_await(struct tinker_link *link, const char *id, const struct tinker_call *call,
                           json_t **result, struct err *err);
/* Both. *result NULL with a status that is fine. */
NODISCARD int tinker_do(struct tinker_link *link, const struct tinker_call *call, json_t **result,
                        struct tinker_sent *sent, struct err *err);

#endif
