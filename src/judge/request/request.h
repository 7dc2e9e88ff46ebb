/* request: one evaluation, as a client requests it.
 *
 * The body of POST /v1/evaluations, one item of a batch, and what a queue keeps as the payload of a
 * job: one JSON object. Unknown keys are errors with the nearest name offered.
 *
 *   key          needed  meaning and default
 *   problem      yes     {"id": "softmax", "hash": verdicts' problem.hash, or absent}: one of the
 *                        suites that the server has, as it is where it has that hash; or inline:
 *                        {"format": "torch", "source": module, "entry_point": "Model"}: the
 *                            candidate defines the class of that name with New behind it
 *                        {"format": "native", "yaml": problem.yaml, "source": reference.c,
 *                            "cuda": reference.cu or absent}
 *                        {"format": "simple", "entry_point": "ModelNew", "cases": …,
 *                            "compare": true}: no reference; cases are a module with get_cases() or
 *                            get_inputs(), a list of cases, or absent: the candidate brings them
 *   candidate    yes     {"source": text, "name": how diagnostics call it, "language": a name
 *                            of language.h; absent: by the name or the problem}
 *   id           no      1 to 255 bytes without control characters; the same id in flight is the
 *                        same evaluation; absent: the server draws one
 *   settings     no      {"check.trials": 5}: those of docs/reference/settings.md that a
 *                        client may set
 *   timing       no      false: correctness only
 *   timeout_ms   no      longest that judging it may take, without the wait in the queue
 *   priority     no      urgent, high, normal (default), low
 *   fresh        no      true: judged again, whatever was judged before
 *   notes        no      an object that is kept and given back, and not looked at
 *   refused      no      why it is not to be judged: it ends at once with this text. A translation
 *                        of another service's API uses it; problem and candidate may then be absent
 *
 * Ownership: a struct evaluation_request borrows from the object that it was read from.
 * Threads: pure functions. Errors: ERR_INPUT (grammar), ERR_LIMIT (a text is too large).
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/settings.h"

#include "judge/verdict.h"
#include "problem/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* X(symbol, name) */
#define EVALUATION_FORMATS(X)                                                                      \
    X(EVALUATION_KNOWN, "known") /* a problem's id */                                              \
    X(EVALUATION_TORCH, "torch")                                                                   \
    X(EVALUATION_NATIVE, "native")                                                                 \
    X(EVALUATION_SIMPLE, "simple")

enum evaluation_format {
#define X(symbol, name) symbol,
    EVALUATION_FORMATS(X)
#undef X
};

/* X(symbol, name), the most urgent first */
#define EVALUATION_PRIORITIES(X)                                                                   \
    X(EVALUATION_URGENT, "urgent")                                                                 \
    X(EVALUATION_HIGH, "high")                                                                     \
    X(EVALUATION_NORMAL, "normal")                                                                 \
    X(EVALUATION_LOW, "low")

enum evaluation_priority {
#define X(symbol, name) symbol,
    EVALUATION_PRIORITIES(X)
#undef X
};

struct evaluation_request {
    const char *id; /* NULL: to be drawn */
    enum evaluation_format format;
    const char *problem_id;     /* KNOWN */
    const char *problem_hash;   /* KNOWN: the one that is meant; NULL: any */
    const char *problem_source; /* TORCH, NATIVE; NULL for the others */
    const char *problem_yaml;   /* NATIVE */
    const char *problem_cuda;   /* NATIVE; NULL */
    const char *entry_point;    /* TORCH: of the reference; SIMPLE: of the candidate */
    const char *cases_source;   /* SIMPLE; NULL */
    const json_t *cases;        /* SIMPLE, a list; NULL */
    bool compare;               /* SIMPLE: against what the cases expect */
    const char *candidate_source;
    const char *candidate_name; /* never NULL: without a name, "candidate" and an ending */
    const json_t *settings;     /* an object; NULL: none */
    bool timing, fresh;
    int64_t timeout_ms;
    enum evaluation_priority priority;
    const json_t *notes; /* an object; NULL */
    const char *refused; /* NULL: to be judged */
};

NODISCARD int evaluation_request_parse(const json_t *object, struct evaluation_request *request,
                                       struct err *err);

/* `base` with the request's own settings over it, whole and checked. `out` borrows the strings of
 * `base`, which outlives it; settings_deinit. */
NODISCARD int evaluation_request_settings(const struct evaluation_request *request,
                                          const struct settings *base, struct settings *out,
                                          struct err *err);

/* The problem that is meant, among the suites under `search paths` or as it was sent, into a zeroed
 * one; problem_deinit, on failure too. ERR_MISSING: a KNOWN one that is not there, or is another.
 * */
NODISCARD int evaluation_request_problem(const struct evaluation_request *request,
                                         const struct paths_list *search_paths,
                                         struct problem *problem, struct err *err);

/* The other way: a native or torch problem, whole, as a request's "problem". A new reference. */
json_t *evaluation_problem_json(const struct problem *problem);

/* What two requests with the same verdict to come share: problem, candidate and settings.
 * `problem_hash` of a KNOWN problem is struct problem's, "" for the others. */
void evaluation_request_hash(const struct evaluation_request *request, const char *problem_hash,
                             char hex[HASH_HEX_BYTES]);

/* A verdict for one that is refused, or that cannot be judged for what it holds: `unsupported`,
 * class "validation". The caller's (verdict_deinit). */
void evaluation_request_refuse(const struct evaluation_request *request, const char *why,
                               struct verdict *verdict);
/* The same for one that cannot be judged here: `infrastructure_error`, class "missing". */
void evaluation_request_fault(const struct evaluation_request *request, const char *why,
                              struct verdict *verdict);

bool evaluation_is_identifier(const char *text);
/* 1 to 255 bytes of UTF-8 without control characters. */
bool evaluation_is_id(const char *text);
