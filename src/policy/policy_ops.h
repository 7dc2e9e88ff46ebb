/* policy_ops: the operations of one kind of policy, and helpers that the kinds share.
 *
 * policy.c bounds the requests in flight (policy.concurrency) and computes costs; the kinds do the
 * rest. `complete` receives *answer as policy_answer_init leaves it and may leave it partly filled
 * when it fails: policy.c cleans up.
 */
#pragma once

#include "policy/policy.h"

#include <stdbool.h>

struct policy_ops {
    const char *kind;
    const char *prefixes[3]; /* of its URLs; NULL at the end */
    int (*open)(void **state, const struct policy_options *options, struct err *err);
    void (*close)(void *state);
    const char *(*model)(const void *state);
    int (*models)(void *state, json_t **models, struct err *err);
    int (*complete)(void *state, const struct policy_request *request, struct policy_answer *answer,
                    struct err *err);
};

extern const struct policy_ops policy_openai, policy_scripted;

/* Every field unknown. */
void policy_answer_init(struct policy_answer *answer);

/* By the settings' prices; NaN if they or the token counts are unknown. */
double policy_cost(const struct settings *settings, const struct policy_answer *answer);

/* Whether a key from the environment may be sent there: the connection is encrypted, or local. A
 * host that only begins with a local name is not local: http://127.example. */
bool policy_url_is_private(const char *url);

/* Sleeps for `ms`; ERR_CANCELLED as soon as *cancelled is set. */
NODISCARD int policy_rest(const _Atomic int *cancelled, int64_t ms, struct err *err);
