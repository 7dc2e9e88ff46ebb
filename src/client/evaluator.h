/* evaluator: one interface to an evaluation, in this process or on a server.
 *
 * A request is the object of docs/guide/remote.md (problem, candidate, settings, …), the answer
 * a verdict (docs/reference/verdict.md). evaluator_evaluate blocks. Any number of threads may
 * call it; more than evaluator_capacity at a time wait inside. Errors: ERR_INPUT (the request;
 * for a server also a problem that it lacks), ERR_MISSING (the problem), ERR_CANCELLED, and
 * those of the connection to the server. A candidate's failure is a verdict, never an error, and
 * so is an invalid problem that was sent whole. */
#pragma once

#include "base/err.h"
#include "base/paths.h"
#include "base/settings.h"
#include "judge/verdict.h"

#include <jansson.h>
#include <stddef.h>

struct evaluator;

struct evaluator_options {
    const struct settings *settings;
    /* Of problems; those outside our own suites are sent whole to a server. */
    const struct paths_list *search_paths;
    size_t max_in_flight; /* evaluations at a time. 0: local: the number of CPUs; a server: 1000 */
    const _Atomic int *cancelled; /* non-zero: waiting calls return ERR_CANCELLED; NULL: never */
};

/* Strings and search paths are borrowed for the evaluator's life. */
NODISCARD int evaluator_open_local(struct evaluator **out, const struct evaluator_options *options,
                                   struct err *err);
/* `url` NULL: the setting client.url. */
NODISCARD int evaluator_open_remote(struct evaluator **out, const char *url,
                                    const struct evaluator_options *options, struct err *err);
/* No call may be in progress. NULL is fine. */
void evaluator_close(struct evaluator *evaluator);
size_t evaluator_capacity(const struct evaluator *evaluator);

/* verdict_deinit, after an error too. A server takes two requests with one id as the same
 * evaluation, unless it ended without a verdict of a judge (cancelled, infrastructure_error): then
 * it evaluates again. This process evaluates every request. */
NODISCARD int evaluator_evaluate(struct evaluator *evaluator, const json_t *request,
                                 struct verdict *verdict, struct err *err);
/* The same, cancelled when *stop is not 0, whatever the evaluator's `cancelled` is. */
NODISCARD int evaluator_evaluate_until(struct evaluator *evaluator, const json_t *request,
                                       const _Atomic int *stop, struct verdict *verdict,
                                       struct err *err);
