/* evaluation_json: an evaluation as our own API shows it.
 *
 *   {"id", "batch", "state", "priority", "created_at", "started_at", "ended_at", "attempt",
 *    "worker", "outcome", "reason", "timing_ms": {"waited", "judged"}, "notes", "verdict"}
 *
 * Notes are in the payload and the verdict is the result, so showing a job reads and parses
 * both. The JSON is therefore cached; a cache entry is used only if the job's row, which is
 * always read, is unchanged, so nothing needs to invalidate it.
 *
 * Ownership: reference-counted and immutable. Threads: any. */
#pragma once

#include "base/err.h"
#include "judge/verdict.h"
#include "queue/queue.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

struct buf;
struct evaluation_json_cache;

struct evaluation_json {
    struct queue_job job; /* without payload and result */
    char *head;           /* JSON of all but the verdict, without the closing brace */
    char *notes;          /* JSON of an object; NULL: none */
    char *verdict;        /* JSON of an object; NULL: none */
    size_t bytes;
    _Atomic int refs;
};

struct evaluation_json_cache *evaluation_json_cache_new(void);
void evaluation_json_cache_free(struct evaluation_json_cache *cache);

/* *out is the caller's (evaluation_json_unref). ERR_MISSING, and queue_get's errors. */
NODISCARD int evaluation_json_get(struct evaluation_json_cache *cache, struct queue *queue,
                                  const char *id, struct evaluation_json **out, struct err *err);
/* The same for a row that was just read. */
NODISCARD int evaluation_json_of(struct evaluation_json_cache *cache, struct queue *queue,
                                 const struct queue_job *row, struct evaluation_json **out,
                                 struct err *err);
void evaluation_json_unref(struct evaluation_json *evaluation);

bool evaluation_has_ended(const struct queue_job *job);
/* The verdict of a job that has ended and was read with its result (verdict_recover). */
void evaluation_verdict(const struct queue_job *job, struct verdict *verdict);
/* Appends the object. `submission`: the result of a POST; NULL: left out. */
void evaluation_json_write(const struct evaluation_json *evaluation, bool verdict,
                           const char *submission, struct buf *out);

const char *evaluation_priority_name(enum queue_priority priority);
