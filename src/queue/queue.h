/* queue: jobs that outlive the processes that put, run and wait for them.
 *
 * One interface, two stores, chosen by the URL:
 *
 *   sqlite:PATH                                  one machine; any number of its processes
 *   redis://[USER:PASSWORD@]HOST[:PORT][/DB]     any number of machines
 *
 * A job is an id, a priority, a word for what it needs, and bytes that the queue never reads: a
 * payload when it is put, a result when it ends. Its life:
 *
 *         put                 claim               finish
 *   ─────────────► QUEUED ─────────────► RUNNING ─────────► DONE        (any outcome but those two)
 *                   │ ▲                   │  │ │
 *            cancel │ └── fail, lost lease┘  │ └─ too many attempts ──► DONE  infrastructure_error
 *                   └───────► CANCELLED ◄────┘ finish with outcome "cancelled"
 *
 * Invariants, in both stores, whatever process is killed at whatever instant:
 * - a put that returned 0 is not lost (docs/reference/queue.md: how Redis must be configured);
 * - a job has at most one result; the first one stands, a later and different one is refused;
 * - claims take the lowest priority number first, and within one the order of the puts; a job that
 *   is queued again keeps its position in that order;
 * - a claimed job belongs to its worker until its lease expires. Leases are measured on a clock
 *   that is never set: CLOCK_BOOTTIME and the boot's id for SQLite, the server's clock for Redis.
 *   Timestamps (*_ms) are wall-clock milliseconds, for people; only retention depends on them.
 *
 * Ids, batches and keys are 1 to 255 bytes of UTF-8 without control characters; words (needs,
 * outcomes) 1 to 31 of a-z, 0-9, '_' and '-'; worker names 1 to 127 bytes, as ids.
 *
 * Ownership: the caller owns what a function fills; queue_job_deinit frees a job's bytes. Arguments
 * are only read, and only during the call.
 * Threads: any number of threads may use a struct queue. Each call returns within a bound
 * (options.call_ms, plus its own timeout); a store that does not answer is an error.
 * Errors: ERR_INPUT (the URL, an id, a word), ERR_MISSING (no such job), ERR_LIMIT (too large, disk
 * or Redis full), ERR_IO and ERR_TIMEOUT (the store can't be reached; a put may or may not have
 * happened: put it again, it joins itself), ERR_UNSUPPORTED (a newer schema), ERR_PROTOCOL (the
 * file or server is not ours). */
#pragma once

#include "base/err.h"
#include "base/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_ID_BYTES 256 /* with the NUL, like the three below */
#define QUEUE_NAME_BYTES 128
#define QUEUE_WORD_BYTES 32
#define QUEUE_REASON_BYTES 512
#define QUEUE_PRIORITIES 4
#define QUEUE_NEEDS_MAX 8     /* words in one claim */
#define QUEUE_OUTCOMES_MAX 32 /* outcomes that statistics distinguish */

#define QUEUE_CANCELLED_OUTCOME "cancelled"
#define QUEUE_LOST_OUTCOME "infrastructure_error"

enum queue_priority { QUEUE_URGENT, QUEUE_HIGH, QUEUE_NORMAL, QUEUE_LOW };

enum queue_state { QUEUE_QUEUED, QUEUE_RUNNING, QUEUE_DONE, QUEUE_CANCELLED };
#define QUEUE_STATES 4
#define QUEUE_ANY_STATE (-1)

struct queue;

/* The clocks of a store; tests replace them. Redis's store uses the server's. */
struct queue_clock {
    int64_t (*wall_ms)(void *context);
    int64_t (*boot_ms)(void *context); /* never set, runs during suspend */
    const char *(*boot_id)(void *context);
    void *context;
};

/* Zeroed: all defaults. */
struct queue_options {
    int64_t lease_ms;                /* 0: 60 s */
    int attempts;                    /* 0: 3 */
    int64_t keep_ms;                 /* retention of ended jobs by time; 0: no bound */
    uint64_t keep_jobs;              /* by number; 0: no bound */
    uint64_t keep_bytes;             /* by bytes of payloads and results; 0: no bound */
    int call_ms;                     /* longest that a store may block a call; 0: 10 s */
    const struct queue_clock *clock; /* NULL: the machine's; must outlive the queue */
};

/* The queue.* settings. */
void queue_options_read(struct queue_options *options, const struct settings *settings);

/* ERR_INPUT: no store has that URL. Errors never contain the password. */
NODISCARD int queue_check_url(const char *url, struct err *err);
/* "": sqlite:$XDG_STATE_HOME/warpgym/queue.db, whose directory is made. Errors never contain the
 * password. */
NODISCARD int queue_open(struct queue **out, const char *url, const struct queue_options *options,
                         struct err *err);
/* No call may be in progress or follow. */
void queue_close(struct queue *queue);
/* The URL without its password, for logs and health reports. */
const char *queue_name(const struct queue *queue);
/* Checks that the store answers within a second. Writes nothing. */
NODISCARD int queue_probe(struct queue *queue, struct err *err);

/* A snapshot of a job. */
struct queue_job {
    char id[QUEUE_ID_BYTES];
    char batch[QUEUE_ID_BYTES]; /* "": none */
    char key[QUEUE_ID_BYTES];   /* "": none */
    char needs[QUEUE_WORD_BYTES];
    enum queue_priority priority;
    enum queue_state state;
    int64_t sequence; /* rises with every put; a job put again after its end gets a new one */
    /* number of claims; id, sequence and claims together are the right to the job */
    int64_t claims;
    int attempt; /* the claims that count as attempts, this one included */
    bool cancel_requested;
    char worker[QUEUE_NAME_BYTES];        /* the worker that has it, or had it last */
    int64_t put_ms, claimed_ms, ended_ms; /* 0: not yet */
    char outcome[QUEUE_WORD_BYTES];       /* "" until the job ends */
    /* why it was queued again last, or ended without a worker's result */
    char reason[QUEUE_REASON_BYTES];
    char *payload, *result;             /* NULL if not requested, or none; else NUL behind them */
    size_t payload_bytes, result_bytes; /* set even if the bytes were not requested */
};

void queue_job_deinit(struct queue_job *job);

struct queue_result {
    const char *outcome; /* a word; "cancelled" ends the job as CANCELLED */
    const char *reason;  /* one line, cut if too long; NULL: none */
    const void *bytes;
    size_t count;     /* at most LIMIT_QUEUE_BODY_BYTES */
    bool answers_key; /* may answer for the job's key (queue_find) */
};

enum queue_put_result {
    QUEUE_PUT_NEW,
    QUEUE_PUT_JOINED,   /* in flight: that job is the answer, this payload was dropped */
    QUEUE_PUT_ANSWERED, /* ended, and not forced: that result is the answer */
    QUEUE_PUT_REPLACED, /* ended, and forced: runs again, the old result is gone */
};

struct queue_submission {
    const char *id;    /* NULL: generated, 32 hexadecimal digits */
    const char *batch; /* NULL: none */
    const char *key;   /* of the result, for queue_find; NULL: none */
    const char *needs; /* "cpu", "gpu": only claims that include it take the job */
    enum queue_priority priority;
    bool force;
    const void *payload;
    size_t payload_bytes; /* at most LIMIT_QUEUE_BODY_BYTES, together LIMIT_QUEUE_PUT_BYTES */
    /* a result known in advance, with which the job ends at once; NULL: none */
    const struct queue_result *result;
    /* Filled in by queue_put. */
    enum queue_put_result put_result;
    char put_id[QUEUE_ID_BYTES];
};

/* Puts all of them in one commit, or none. If two have one id, the second joins the first. */
NODISCARD int queue_put(struct queue *queue, struct queue_submission *submissions, size_t count,
                        struct err *err);

/* A queued job ends at once; a running job's worker sees the request at its next renewal. *state
 * is the job's new state: CANCELLED, RUNNING (requested), or DONE (too late). ERR_MISSING. */
NODISCARD int queue_cancel(struct queue *queue, const char *id, enum queue_state *state,
                           struct err *err);

enum queue_bodies { QUEUE_NO_BODIES = 0, QUEUE_PAYLOAD = 1, QUEUE_RESULT = 2 };

/* `bodies`: which of the two to read. ERR_MISSING. */
NODISCARD int queue_get(struct queue *queue, const char *id, unsigned bodies, struct queue_job *job,
                        struct err *err);
/* The job that ended last with a result that answers for `key` (struct queue_result).
 * ERR_MISSING. */
NODISCARD int queue_find(struct queue *queue, const char *key, unsigned bodies,
                         struct queue_job *job, struct err *err);

struct queue_filter {
    int state;         /* enum queue_state, or QUEUE_ANY_STATE */
    const char *batch; /* NULL: all */
    int64_t before; /* only sequences below it: the last of the previous page; 0: from the newest */
    unsigned bodies;
};

/* Newest put first. Fills at most `limit` jobs; *count is how many. */
NODISCARD int queue_list(struct queue *queue, const struct queue_filter *filter,
                         struct queue_job *jobs, size_t limit, size_t *count, struct err *err);

struct queue_stats {
    struct {
        uint64_t depth;    /* queued */
        int64_t oldest_ms; /* how long the oldest of them has waited; 0: none */
    } priorities[QUEUE_PRIORITIES];
    uint64_t running;
    uint64_t kept; /* records of ended jobs */
    struct {
        char outcome[QUEUE_WORD_BYTES];
        uint64_t count; /* since the store was made */
    } ended[QUEUE_OUTCOMES_MAX];
    size_t ended_count;
    uint64_t lost_leases; /* since the store was made */
    uint64_t documents;   /* some of them expired, until they are reaped */
};

NODISCARD int queue_stats(struct queue *queue, struct queue_stats *stats, struct err *err);

struct queue_claim {
    const char *worker;
    const char *const *needs; /* words of jobs that it can run */
    size_t needs_count;
    int64_t lease_ms; /* 0: the queue's */
    int timeout_ms;   /* how long to wait for a job; 0: do not wait */
};

/* Claims a job with its payload; *got: whether there was one. A put of any process wakes waiters
 * at once. Returns early, without a job, on queue_interrupt. */
NODISCARD int queue_claim(struct queue *queue, const struct queue_claim *claim,
                          struct queue_job *job, bool *got, struct err *err);
/* From now on claims never wait: shutting down. Not async-signal-safe. */
void queue_interrupt(struct queue *queue);

enum queue_lease_state {
    QUEUE_HELD, /* yours for another lease */
    /* likewise, and its cancellation was requested: finish it as "cancelled" */
    QUEUE_CANCEL_REQUESTED,
    QUEUE_LOST, /* no longer yours: stop */
};

/* Renews each job as it was claimed (reads id, sequence and claims). lease_ms 0: the queue's.
 * One commit. */
NODISCARD int queue_renew(struct queue *queue, const struct queue_job *const *jobs, size_t count,
                          int64_t lease_ms, enum queue_lease_state *lease_states, struct err *err);

enum queue_finish_result {
    QUEUE_FINISHED,
    QUEUE_REPEATED, /* this very result is stored already */
    QUEUE_REFUSED,  /* another result was first, or the job was cancelled, replaced or removed */
};

/* Any worker that once claimed the job may finish it while it has no result, even after its
 * lease expired. */
NODISCARD int queue_finish(struct queue *queue, const struct queue_job *job,
                           const struct queue_result *result,
                           enum queue_finish_result *finish_result, struct err *err);

/* Hands a job back to be claimed again, in its old position. `counts`: the attempt failed (the
 * last one ends the job as infrastructure_error, with `reason`); else it does not count (a
 * worker that drains). A job whose cancellation was requested ends as cancelled. No effect if
 * the job is no longer the caller's. */
NODISCARD int queue_fail(struct queue *queue, const struct queue_job *job, const char *reason,
                         bool counts, struct err *err);

/* A job's newest state; intermediate states may be left out, the end never is. */
struct queue_event {
    int64_t number; /* rises */
    char id[QUEUE_ID_BYTES];
    char batch[QUEUE_ID_BYTES];
    /* RUNNING, DONE, CANCELLED, or QUEUED for a job that was queued again */
    enum queue_state state;
    bool cancel_requested; /* so that a worker need not wait for its next renewal */
    char outcome[QUEUE_WORD_BYTES];
};

/* Callback for changes that any process on the store makes after queue_watch returned. One
 * thread of the queue calls all watchers, so `on_events` must be short and may call none of these
 * functions: wake your own thread from it. count 0: events were missed (the store was
 * unreachable, or the watcher too slow); check with queue_get every job that you wait for. */
struct queue_watcher {
    void (*on_events)(struct queue_watcher *watcher, const struct queue_event *events,
                      size_t count);
    struct queue_watcher *next; /* the queue's */
};

/* To wait for a job: watch, then queue_get, then wait. In the other order its end may fall
 * between the two. The caller owns the watcher's storage. */
void queue_watch(struct queue *queue, struct queue_watcher *watcher);
/* The watcher is never called after this returns. */
void queue_unwatch(struct queue *queue, struct queue_watcher *watcher);

struct queue_reaping {
    uint64_t returned; /* jobs queued again because their lease expired */
    uint64_t lost;     /* of them, jobs that ended after too many attempts */
    uint64_t removed;  /* ended jobs past the retention */
    uint64_t expired;  /* expired documents */
    bool more;         /* it stopped at its bound: call it again soon */
};

/* Every server and worker calls it about once a second; the work of one call is bounded. */
NODISCARD int queue_reap(struct queue *queue, struct queue_reaping *reaping, struct err *err);

/* The worker registry: short texts with an expiry by which workers announce themselves to
 * servers, also on other machines. `name` as ids are, `bytes` at most
 * LIMIT_QUEUE_REGISTRATION_BYTES; count 0 removes the registration. */
NODISCARD int queue_register(struct queue *queue, const char *name, const void *bytes, size_t count,
                             int64_t keep_ms, struct err *err);

struct queue_registration {
    char name[QUEUE_ID_BYTES];
    char *bytes; /* NUL behind them */
    size_t count;
};

/* All registrations in the order of their names, at most LIMIT_QUEUE_REGISTRATIONS. Free with
 * queue_registrations_free. */
NODISCARD int queue_registrations(struct queue *queue, struct queue_registration **registrations,
                                  size_t *count, struct err *err);
void queue_registrations_free(struct queue_registration *registrations, size_t count);

/* Documents: state that outlives a process and is not a job, such as an episode. Bytes under a
 * name, with a version that rises with each write. A writer passes the version that it read, so of
 * two writers the second learns that it is late. A version is one above the version it replaces;
 * the first version of a name is above all that were ever assigned, so a name that was removed and
 * is written again never repeats one.
 *
 * A write that returned 0 is as safe as a put. A document expires; each write restarts its
 * lifetime. Time is measured as for leases, and a boot of SQLite's machine restarts the lifetime
 * too. Names are as ids, in a name space separate from those of jobs and registrations. */
struct queue_document {
    char *bytes; /* NUL behind them */
    size_t count;
    int64_t version;
    int64_t expires_ms; /* wall-clock time, for people */
};

/* `version`: the one that was read, 0: there must be none. *written false: another write or a
 * removal was first, and nothing changed. `count` at most LIMIT_QUEUE_BODY_BYTES, `keep_ms` 1 to
 * LIMIT_QUEUE_DOCUMENT_MS. May be repeated after an error: if the stored version is the one that
 * this write would have made (any, if `version` is 0) and has the same bytes, this write is
 * taken as done. */
NODISCARD int queue_document_put(struct queue *queue, const char *name, const void *bytes,
                                 size_t count, int64_t version, int64_t keep_ms, bool *written,
                                 struct err *err);
/* ERR_MISSING: no such document, or it has expired. */
NODISCARD int queue_document_get(struct queue *queue, const char *name,
                                 struct queue_document *document, struct err *err);
void queue_document_deinit(struct queue_document *document);
/* Removes any version. *removed: whether there was one. */
NODISCARD int queue_document_remove(struct queue *queue, const char *name, bool *removed,
                                    struct err *err);

const char *queue_state_name(enum queue_state state); /* "queued", … */
