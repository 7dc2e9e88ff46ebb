/* remote: the evaluations of a server (its API under /v1, docs/guide/remote.md).
 *
 * An evaluation is the server's object for one: id, state, outcome, verdict. Answers are checked
 * to have the fields of struct remote_evaluation before they are returned; remote_verdict
 * reads its verdict.
 *
 * Every call may be repeated (http_client.h): evaluations and batches without an id get one
 * here, before they are sent.
 *
 * Ownership: JSON handed out is the caller's (json_decref); a struct remote_evaluation borrows
 * from the object that it was read from. Threads: as http_client, one thread at a time. Errors:
 * those of http_client, and its refusals; ERR_PROTOCOL for an invalid answer. */
#pragma once

#include "base/err.h"
#include "base/settings.h"
#include "judge/verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define REMOTE_STANDARD_URL "http://127.0.0.1:10907"
#define REMOTE_ID_BYTES 33
#define REMOTE_WAIT_MS 20000  /* of one long poll */
#define REMOTE_CANCEL_MS 5000 /* longest time spent on cancelling what is no longer wanted */

struct remote;

/* X(symbol, name) */
#define REMOTE_STATES(X)                                                                           \
    X(REMOTE_QUEUED, "queued")                                                                     \
    X(REMOTE_RUNNING, "running")                                                                   \
    X(REMOTE_DONE, "done")                                                                         \
    X(REMOTE_CANCELLED, "cancelled")

enum remote_state {
#define X(symbol, name) symbol,
    REMOTE_STATES(X)
#undef X
        REMOTE_STATE_COUNT
};

struct remote_evaluation {
    const char *id;
    enum remote_state state;
    const char *outcome, *reason, *worker, *created_at; /* NULL: absent */
    int64_t attempt;
    const json_t *verdict; /* an object; NULL: none, or not requested */
};

/* `url` NULL: the setting client.url, or REMOTE_STANDARD_URL. `cancelled` as in http_client.h. */
NODISCARD int remote_open(struct remote **out, const struct settings *settings, const char *url,
                          const _Atomic int *cancelled, struct err *err);
/* For cleaning up: a call takes at most half of `within_ms`, is not retried and cannot be
 * cancelled. */
NODISCARD int remote_open_briefly(struct remote **out, const struct settings *settings,
                                  const char *url, int64_t within_ms, struct err *err);
/* NULL is fine. */
void remote_close(struct remote *remote);
/* Replaces `cancelled`; NULL: calls are not cancelled. */
void remote_set_cancel(struct remote *remote, const _Atomic int *cancelled);

/* Reads an evaluation from an untrusted answer. */
NODISCARD int remote_read(const json_t *object, struct remote_evaluation *evaluation,
                          struct err *err);
/* The verdict of one that has ended: the server's, or where it sent none that can be read, one that
 * says so. The caller's (verdict_deinit). */
void remote_verdict(const struct remote_evaluation *evaluation, struct verdict *verdict);
/* The same of a page of remote_list. */
NODISCARD int remote_read_list(const json_t *list, struct err *err);
bool remote_is_ended(const struct remote_evaluation *evaluation);
const char *remote_state_name(enum remote_state state);
void remote_draw_id(char id[REMOTE_ID_BYTES]);

/* `request`: docs/guide/remote.md; gets an id if it has none. */
NODISCARD int remote_submit(struct remote *remote, json_t *request, json_t **evaluation,
                            struct err *err);
/* Submits all or none, in one transaction of the server. Each request without an id gets one;
 * `id` is the batch's. */
NODISCARD int remote_submit_batch(struct remote *remote, const char *id, json_t *requests,
                                  struct err *err);

/* Its state when it has ended or after wait_ms; 0: at once. */
NODISCARD int remote_get(struct remote *remote, const char *id, int64_t wait_ms,
                         json_t **evaluation, struct err *err);
/* Waits until it has ended. */
NODISCARD int remote_wait(struct remote *remote, const char *id, json_t **evaluation,
                          struct err *err);

struct remote_query {
    const char *state, *batch; /* NULL: any */
    int64_t before;            /* from the previous page; 0: from the newest */
    int64_t limit;             /* 1 to 1000 */
    bool verdicts;
};

/* *list: {"evaluations": [...newest first], "before": for the next page, or null}. */
NODISCARD int remote_list(struct remote *remote, const struct remote_query *query, json_t **list,
                          struct err *err);

/* ERR_MISSING: no such evaluation; ERR_INPUT: it had ended before. */
/* The registrations of its workers: an array, the caller's. */
NODISCARD int remote_workers(struct remote *remote, json_t **workers, struct err *err);
NODISCARD int remote_cancel(struct remote *remote, const char *id, struct err *err);
NODISCARD int remote_cancel_batch(struct remote *remote, const char *id, struct err *err);
