/* engine: a sampler with its own thread, which accepts requests from any thread.
 *
 * The callbacks of a request run on the engine's thread and must not block.
 */
#pragma once

#include "lm/sample/sampler.h"

struct lm_engine;

NODISCARD int lm_engine_open(struct lm_engine **out, struct lm_model *model,
                             const struct lm_sampler_options *options, struct err *err);
/* Cancels running requests, waits for their last events, ends the thread. */
void lm_engine_close(struct lm_engine *engine);

NODISCARD int lm_engine_submit(struct lm_engine *engine, const struct lm_request *request,
                               uint64_t *id, struct err *err);
void lm_engine_cancel(struct lm_engine *engine, uint64_t id);
/* Submits and waits for all samples; `samples` is the caller's array of request->samples, each to
 * be released with lm_sample_deinit. request->on_event, context are the engine's own here. Ends
 * early with ERR_CANCELLED when *stop becomes non-zero (NULL: never). */
NODISCARD int lm_engine_run(struct lm_engine *engine, const struct lm_request *request,
                            struct lm_sample *samples, const _Atomic int *stop, struct err *err);
void lm_sample_deinit(struct lm_sample *sample);

/* Not from a callback. Lets running requests end and starts none, calls `change` (which replaces
 * weights in place) on the engine's thread, drops cached prompts and continues: no restart between
 * rollouts. */
NODISCARD int lm_engine_change(struct lm_engine *engine, int (*change)(void *context, struct err *),
                               void *context, struct err *err);
/* As of the end of the last step. */
struct lm_sampler_stats lm_engine_stats(struct lm_engine *engine);
