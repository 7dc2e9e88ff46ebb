/* view: an evaluation as our own API shows it.
 *
 *   {"id", "batch", "state", "priority", "created_at", "started_at", "ended_at", "attempt",
 * "worker",
 *    "outcome", "reason", "timing_ms": {"waited", "judged"}, "notes", "verdict"}
 *
 * Notes stand in the payload and the verdict is the result, so showing a job takes reading and
 * parsing both. Views are therefore remembered, and a remembered one is used only where the job's
 * row, which is always read, is still the same: nothing has to be told that a job changed.
 *
 * Ownership: views are counted (view_ref, view_unref) and immutable. Threads: any.
 */
#ifndef WARPGYM_SERVER_VIEW_H
#define WARPGYM_SERVER_VIEW_H

#include "base/err.h"
#include "queue/queue.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

struct buf;
struct views;

struct view {
    struct queue_job job; /* without bodies */
    char *head;           /* JSON of all but the verdict, without the brace at its end */
    char *notes;          /* JSON of an object; NULL: none */
    char *verdict;        /* JSON of an object; NULL: none */
    size_t bytes;
    _Atomic int refs;
};

struct views *views_new(void);
void views_free(struct views *views);

/* *out is the caller's (view_unref). ERR_MISSING, and what queue_get may say. */
NODISCARD int views_get(struct views *views, struct queue *queue, const char *id, struct view **out,
                        struct err *err);
/* The same for a row that was just read. */
NODISCARD int views_of(struct views *views, struct queue *queue, const struct queue_job *row,
                       struct view **out, struct err *err);
void view_unref(struct view *view);

bool view_ended(const struct queue_job *job);
/* Appends the object. `putting`: as POST says; NULL: leave it out. */
void view_write(const struct view *view, bool verdict, const char *putting, struct buf *out);

const char *view_priority(enum queue_priority priority);

#endif
