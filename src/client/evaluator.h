/* evaluator: whoever judges: this process, or a server. What asks it knows only this.
 *
 * A request is the object of docs/remote.md (problem, candidate, settings, …), the answer a verdict
 * (docs/verdict.md). evaluator_evaluate blocks, and may be called by any number of threads; more
 * than evaluator_at_once at a time wait for their turn inside.
 * Errors: ERR_INPUT (the request; for a server also a problem that it lacks), ERR_MISSING (the
 * problem), ERR_CANCELLED, and those of the way to the server. What a candidate does is never an
 * error but a verdict, and so is a problem that was sent whole and is none.
 */
#ifndef WARPGYM_CLIENT_EVALUATOR_H
#define WARPGYM_CLIENT_EVALUATOR_H

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stddef.h>

struct evaluator;

struct evaluator_options {
    const struct settings *settings;
    const char *const *roots; /* of problems; a server is sent those whole that are not our own suites' */
    size_t root_count;
    size_t at_once;               /* 0: local: the CPUs; a server: 1000 */
    const _Atomic int *cancelled; /* non-zero: whoever waits gets ERR_CANCELLED; NULL: never */
};

/* Strings and roots are borrowed for the evaluator's life. */
NODISCARD int evaluator_open_local(struct evaluator **out, const struct evaluator_options *options,
                                   struct err *err);
/* `url` NULL: the setting client.url. */
NODISCARD int evaluator_open_remote(struct evaluator **out, const char *url,
                                    const struct evaluator_options *options, struct err *err);
/* Nobody may be waiting inside. NULL is fine. */
void evaluator_close(struct evaluator *evaluator);
size_t evaluator_at_once(const struct evaluator *evaluator);

/* *verdict is a new reference. An id in the request makes it the same evaluation when a server is
 * asked twice, unless it ended before without being judged (cancelled, infrastructure_error): then
 * it is judged again. In this process it is judged whenever it is asked. */
NODISCARD int evaluator_evaluate(struct evaluator *evaluator, const json_t *request,
                                 json_t **verdict, struct err *err);
/* The same, given up when *stop is not 0, whatever the evaluator's `cancelled` says. */
NODISCARD int evaluator_evaluate_until(struct evaluator *evaluator, const json_t *request,
                                       const _Atomic int *stop, json_t **verdict, struct err *err);

#endif
