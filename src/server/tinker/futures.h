/* futures: results of requests, for which clients poll.
 *
 *   request ─► future ─► tinker_future_end: the result, or why there is none ─► polls
 *
 * The key of a request finds the future of the first one with that key: what is sent twice runs
 * once. A poll is held until the result is there, at most tinker.poll_ms. Results are kept for
 * repeated polls, tinker.results_max_bytes in all; the oldest go first, the newest never. A poll
 * for one that is not known is 410, at which the client sends its request again.
 *
 * Ownership: references; the table has one, and each function that returns a future gives one.
 * Threads: any; "with the lock" is that of state.h.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct http_response;
struct lm_engine;
struct tinker_future;
struct tinker_futures;
struct tinker_service;

/* JSON text, or the protocol buffer of a pass or of a sample. */
enum tinker_result { TINKER_RESULT_JSON, TINKER_RESULT_PASS, TINKER_RESULT_SAMPLE };

struct tinker_futures *tinker_futures_new(void);
/* No poll is left. */
void tinker_futures_free(struct tinker_futures *futures);

/* With the lock. NULL: none has this key, or the key is NULL. */
struct tinker_future *tinker_future_find(struct tinker_service *service, const char *key);
/* With the lock. `key`, `model` (the run): may be NULL; `samples`: 0 where it is no sample. */
struct tinker_future *tinker_future_new(struct tinker_service *service, const char *key,
                                        const char *model, size_t samples);
/* With the lock: no trace is left of one that never ran. */
void tinker_future_forget(struct tinker_service *service, struct tinker_future *future);
struct tinker_future *tinker_future_ref(struct tinker_future *future);
/* NULL is fine. */
void tinker_future_unref(struct tinker_future *future);
/* The answer to a submission. */
void tinker_future_show(const struct tinker_future *future, struct http_response *response);

/* Without the lock: the engine samples it under this number, by which it can be cancelled until it
 * has been sampled. */
void tinker_future_sampling(struct tinker_service *service, struct tinker_future *future,
                            struct lm_engine *engine, uint64_t number);
/* With the lock: it asks nothing of the engine any more. */
void tinker_future_sampled(struct tinker_future *future);
/* Without the lock. `result` >= 0: takes what is in `bytes`; else the failure. Answers polls. */
void tinker_future_end(struct tinker_service *service, struct tinker_future *future,
                       enum tinker_result kind, int result, struct buf *bytes,
                       const struct err *err);
