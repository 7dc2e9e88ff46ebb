/* policy_ops: what policy.c asks of each maker of answers, and what the makers share.
 *
 * policy.c keeps the number of questions under way within policy.at_once and works out costs; a
 * maker does the rest. `complete` finds *answer as policy_answer_init leaves it, and may leave a
 * part in it when it fails: policy.c cleans up.
 */
#ifndef WARPGYM_POLICY_POLICY_OPS_H
#define WARPGYM_POLICY_POLICY_OPS_H

#include "policy/policy.h"

#include <stdbool.h>

struct policy_ops {
    const char *kind;
    const char *prefixes[3]; /* of the URLs that it is for; NULL at the end */
    int (*open)(void **state, const struct policy_options *options, struct err *err);
    void (*close)(void *state);
    const char *(*model)(const void *state);
    int (*models)(void *state, json_t **models, struct err *err);
    int (*complete)(void *state, const struct policy_request *request, struct policy_answer *answer,
                    struct err *err);
};

extern const struct policy_ops policy_openai, policy_scripted;

/* Nothing is known of it yet. */
void policy_answer_init(struct policy_answer *answer);

/* By the settings' prices; NaN where they or the tokens are not known. */
double policy_cost(const struct settings *settings, const struct policy_answer *answer);

/* Whether a key of the environment may go there: it is encrypted, or on this machine. What begins
 * with its names need not be one: http://127.example. */
bool policy_url_is_private(const char *url);

/* Sleeps, or less where somebody cancels: then ERR_CANCELLED. */
NODISCARD int policy_rest(const _Atomic int *cancelled, int64_t ms, struct err *err);

#endif
