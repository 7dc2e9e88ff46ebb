/* engines: sets of weights that sample now, each in an engine of its own; where there are
 * tinker.max_samplers, the least recently used one is closed for another.
 *
 * Ownership: an engine is used between take and return; what the options name is the caller's and
 * outlives them. Threads: any; each engine has its own.
 */
#pragma once

#include "server/tinker/service.h"

struct tinker_engine;
struct tinker_engines;

struct tinker_engines *tinker_engines_new(const struct tinker_service_options *options);
/* Samples in flight end as cancelled; none begins after it. */
void tinker_engines_stop(struct tinker_engines *engines);
/* NULL is fine. */
void tinker_engines_free(struct tinker_engines *engines);

/* `directory`: of the adapter, NULL: the base. ERR_LIMIT: all are busy; ERR_MISSING: it was
 * deleted. */
NODISCARD int tinker_engine_take(struct tinker_engines *engines, const char *directory,
                                 struct tinker_engine **out, struct err *err);
struct lm_engine *tinker_engine_of(const struct tinker_engine *engine);
/* Never waits. */
void tinker_engine_return(struct tinker_engine *engine);
