/* tinker_token: the short-lived token (a JWT) that a server with `pjwt_auth_enabled` wants in place
 * of the key, and the time at which a JWT expires.
 *
 * POST /api/v1/auth/token with the key gives one. It is exchanged again a minute before it expires,
 * and once when the server refuses it. All links of a session share one.
 *
 * Threads: any number; one exchanges, the others wait for it.
 */
#pragma once

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>

#define TINKER_TOKEN_BYTES ((size_t)16 << 10)

struct tinker_token {
    pthread_mutex_t lock;
    _Atomic bool wanted; /* the server exchanges keys */
    char *text;          /* NULL: none yet */
    double expires_s;    /* since 1970 */
};

void tinker_token_init(struct tinker_token *token);
void tinker_token_deinit(struct tinker_token *token);
/* With the lock held: whether there is none that is valid for another minute. */
bool tinker_token_is_stale(const struct tinker_token *token);
/* With the lock held: takes the one of {"jwt"}. ERR_PROTOCOL. */
NODISCARD int tinker_token_set(struct tinker_token *token, const char *text, struct err *err);
/* When the JWT expires, in seconds since 1970; INFINITY: it does not say, or is none. */
double tinker_token_expiry(const char *text);
/* ERR_INPUT: `key` is a JWT that has expired. */
NODISCARD int tinker_token_check_key(const char *key, struct err *err);
