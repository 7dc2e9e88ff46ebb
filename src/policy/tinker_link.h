/* tinker_link: asking a Tinker server until it answers.
 *
 * A request that failed in passing is made again, with the same body (so with the same seq_id: the
 * server does nothing twice):
 *
 *   429, 5xx, 408, 409, 425, a lost connection   later and later, for policy.patience_ms
 *   no answer at all                             at once, for policy.timeout_ms
 *   402                                          every 5 s, as long as the server asks for
 *   400 of a poll, and an empty one              a few times
 *   what else is no success                      an error, in the server's words
 *
 * The key is in no message. Threads: any number ask at once, each on a connection of its own.
 * Errors: ERR_INPUT, ERR_IO, ERR_TIMEOUT, ERR_LIMIT, ERR_PROTOCOL, ERR_CANCELLED; ERR_MISSING from
 * tinker_await alone: the server has lost what it promised.
 */
#ifndef WARPGYM_POLICY_TINKER_LINK_H
#define WARPGYM_POLICY_TINKER_LINK_H

#include "base/buf.h"
#include "base/settings.h"

#include <jansson.h>

struct tinker_link;

struct tinker_link_options {
    const char *url;
    const struct settings *settings; /* policy.*; borrowed */
    const _Atomic int *cancelled;
    size_t at_once; /* connections that are kept */
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
};

/* *answer is the caller's reference, or NULL where it had no body; *status may be NULL. */
NODISCARD int tinker_ask(struct tinker_link *link, const struct tinker_call *call, json_t **answer,
                         int *status, struct err *err);
/* A request that takes its time: its promise's id (mem_free). *status as above. */
NODISCARD int tinker_submit(struct tinker_link *link, const struct tinker_call *call, char **id,
                            int *status, struct err *err);
/* What was promised. */
NODISCARD int tinker_await(struct tinker_link *link, const char *id, const struct tinker_call *call,
                           json_t **result, int *status, struct err *err);

#endif
