/* policy: a source of answers to prompts.
 *
 * One interface, several implementations, chosen by the URL:
 *
 *   http://HOST:PORT/v1, https://…   any OpenAI-compatible chat endpoint (openai.c)
 *   scripted:FILE                    answers from a JSONL file, for tests and demos (scripted.c)
 *
 * policy_complete blocks, and any number of threads may call it at once; a policy keeps at most
 * policy.concurrency requests in flight. It returns within its timeouts, or at once when cancelled.
 * An answer is complete or absent: a truncated response is requested again.
 * Ownership: the caller owns an answer's strings (policy_answer_deinit).
 * Errors: ERR_INPUT (the URL, the model, a 4xx: a retry cannot help), ERR_IO, ERR_TIMEOUT,
 * ERR_CANCELLED, ERR_MISSING (a script without an
 * answer for that turn).
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdint.h>

struct policy;

struct policy_options {
    const char *url;                 /* NULL: the setting policy.url */
    const char *model;               /* NULL: policy.model, else the endpoint's only model */
    const struct settings *settings; /* policy.*; borrowed for the policy's life */
    const _Atomic int *cancelled;
};

/* One prompt. */
struct policy_request {
    const json_t *messages; /* [{"role", "content"}, …] */
    const char *problem;    /* its id, for scripts and logs */
    int64_t sample, turn;   /* from 0 */
    uint64_t seed;          /* sent if the endpoint takes one */
};

struct policy_answer {
    char *text;                                              /* never NULL after success */
    char *reasoning;                                         /* separated by the endpoint; NULL:
                                                              * none */
    char *model;                                             /* as the endpoint names it; NULL */
    char finish[32];                                         /* "stop", "length", …; "" */
    int64_t prompt_tokens, completion_tokens, cached_tokens; /* -1: unknown */
    double cost;                                             /* by the configured prices; NaN:
                                                              * unknown */
    json_t *logprobs;                 /* [{"token", "logprob"}, …]; NULL: none */
    unsigned asked;                   /* number of attempts */
    double answer_ms, first_token_ms; /* NaN: unknown */
};

/* ERR_INPUT: there is no such policy. */
NODISCARD int policy_check_url(const char *url, struct err *err);
/* ERR_INPUT: it is no object of options for an endpoint. */
NODISCARD int policy_check_extra(const char *text, struct err *err);
NODISCARD int policy_open(struct policy **out, const struct policy_options *options,
                          struct err *err);
void policy_close(struct policy *policy);
/* "openai", "scripted"; for records. */
const char *policy_kind(const struct policy *policy);
const char *policy_model(const struct policy *policy);
/* The names of the endpoint's models, [text, …]: a new reference. */
NODISCARD int policy_models(struct policy *policy, json_t **models, struct err *err);

NODISCARD int policy_complete(struct policy *policy, const struct policy_request *request,
                              struct policy_answer *answer, struct err *err);
void policy_answer_deinit(struct policy_answer *answer);
