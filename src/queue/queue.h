/* queue: jobs that outlive the processes that put, run and wait for them.
 *
 * One interface, two stores, told apart by the URL:
 *
 *   sqlite:PATH                                  one machine; any number of its processes
 *   redis://[USER:PASSWORD@]HOST[:PORT][/DB]     any number of machines
 *
 * A job is an id, a priority, a word for what it needs, and bytes that the queue never looks into:
 * a payload when it is put, a result when it ends. Its life:
 *
 *         put                 claim               finish
 *   ─────────────► QUEUED ─────────────► RUNNING ─────────► DONE        (any outcome but those two)
 *                   │ ▲                   │  │ │
 *            cancel │ └── fail, lost lease┘  │ └─ too many attempts ──► DONE  infrastructure_error
 *                   └───────► CANCELLED ◄────┘ finish with outcome "cancelled"
 *
 * Invariants, in both stores, whatever process is killed at whatever instant:
 * - a put that returned 0 is not lost (docs/queue.md: what Redis must be told for that);
 * - a job has at most one result; the first one stands, a later and different one is refused;
 * - claims take the lowest priority number first, and within one the order of the puts; a job that
 *   comes back keeps its place in that order;
 * - a claimed job belongs to its worker until its lease runs out. Leases are measured on a clock
 *   that nobody sets: SQLite's store by CLOCK_BOOTTIME and the boot's id, Redis's by the server.
 *   Timestamps (*_ms) are wall-clock milliseconds, for people; nothing is decided by them but
 *   retention.
 *
 * Ids, batches and keys are 1 to 255 bytes of UTF-8 without control characters; words (needs,
 * outcomes) 1 to 31 of a-z, 0-9, '_' and '-'; worker names 1 to 127 bytes, as ids.
 *
 * Ownership: what a function fills belongs to the caller; queue_job_deinit frees a job's bytes.
 * What it is given is only read, and only during the call.
 * Threads: a struct queue may be used by any number of threads at once. Each call comes back within
 * a bound (options.call_ms, plus its own timeout); a store that does not answer is an error.
 * Errors: ERR_INPUT (the URL, an id, a word), ERR_MISSING (no such job), ERR_LIMIT (too large, disk
 * or Redis full), ERR_IO and ERR_TIMEOUT (the store can't be reached; a put may or may not have
 * happened: put it again, it joins itself), ERR_UNSUPPORTED (a newer schema), ERR_PROTOCOL (the
 * file or server is not ours).
 */
#ifndef WARPGYM_QUEUE_QUEUE_H
#define WARPGYM_QUEUE_QUEUE_H

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
#define QUEUE_NEEDS_MAX 8     /* words that one claim takes */
#define QUEUE_OUTCOMES_MAX 32 /* outcomes that statistics tell apart */

#define QUEUE_CANCELLED_OUTCOME "cancelled"
#define QUEUE_LOST_OUTCOME "infrastructure_error"

enum queue_priority { QUEUE_URGENT, QUEUE_HIGH, QUEUE_NORMAL, QUEUE_LOW };

enum queue_state { QUEUE_QUEUED, QUEUE_RUNNING, QUEUE_DONE, QUEUE_CANCELLED };
#define QUEUE_STATES 4
#define QUEUE_ANY_STATE (-1)

struct queue;

/* Where a store takes its time from; tests bring their own. Redis's store has the server's. */
struct queue_clock {
    int64_t (*wall_ms)(void *context);
    int64_t (*boot_ms)(void *context); /* never set, goes on in suspend */
    const char *(*boot_id)(void *context);
    void *context;
};

/* Zeroed: all defaults. */
struct queue_options {
    int64_t lease_ms;                /* 0: 60 s */
    int attempts;                    /* 0: 3 */
    int64_t keep_ms;                 /* ended jobs: for how long; 0: no bound */
    uint64_t keep_jobs;              /* how many; 0: no bound */
    uint64_t keep_bytes;             /* payloads and results of how many bytes; 0: no bound */
    int call_ms;                     /* longest that a store may keep a call waiting; 0: 10 s */
    const struct queue_clock *clock; /* NULL: the machine's; must outlive the queue */
};

/* The queue.* settings. */
void queue_options_read(struct queue_options *options, const struct settings *settings);

/* "": sqlite:$XDG_STATE_HOME/warpgym/queue.db, whose directory is made. Errors never hold the
 * password. */
NODISCARD int queue_open(struct queue **out, const char *url, const struct queue_options *options,
                         struct err *err);
/* No call may be under way or come after. */
void queue_close(struct queue *queue);
/* The URL without its password, for logs and health reports. */
const char *queue_name(const struct queue *queue);
/* Writes nothing, reads a little: whether the store answers within a second. */
NODISCARD int queue_probe(struct queue *queue, struct err *err);

/* A job as it stood at one moment. */
struct queue_job {
    char id[QUEUE_ID_BYTES];
    char batch[QUEUE_ID_BYTES]; /* "": none */
    char key[QUEUE_ID_BYTES];   /* "": none */
    char needs[QUEUE_WORD_BYTES];
    enum queue_priority priority;
    enum queue_state state;
    int64_t
        sequence;   /* rises with every put; a job put again in place of a done one has a new one */
    int64_t claims; /* how often it was handed out: with id and sequence, the right to the job */
    int attempt;    /* of them those that count, this one included */
    bool cancel_asked;
    char worker[QUEUE_NAME_BYTES];        /* who has it, or had it last */
    int64_t put_ms, claimed_ms, ended_ms; /* 0: not yet */
    char outcome[QUEUE_WORD_BYTES];       /* "" until it ended */
    char reason[QUEUE_REASON_BYTES]; /* why it came back last, or ended without a worker's result */
    char *payload, *result;          /* NULL where not asked for, or none; else NUL behind them */
    size_t payload_bytes, result_bytes; /* true even where the bytes were not asked for */
};

void queue_job_deinit(struct queue_job *job);

struct queue_result {
    const char *outcome; /* a word; "cancelled" ends the job as CANCELLED */
    const char *reason;  /* one line, cut where it is too long; NULL: none */
    const void *bytes;
    size_t count;     /* at most LIMIT_QUEUE_BODY_BYTES */
    bool answers_key; /* may answer for the job's key (queue_find) */
};

/* -------------------------------------------------------------------------------- the submitter */

enum queue_putting {
    QUEUE_PUT_NEW,
    QUEUE_PUT_JOINED,   /* in flight already: that job is the answer, this payload was dropped */
    QUEUE_PUT_ANSWERED, /* ended already, and not forced: that result is the answer */
    QUEUE_PUT_REPLACED, /* ended already, and forced: runs again, the old result is gone */
};

struct queue_submission {
    const char *id;    /* NULL: made here, 32 hexadecimal digits */
    const char *batch; /* NULL: none */
    const char *key;   /* of the result, for queue_find; NULL: none */
    const char *needs; /* "cpu", "gpu": only claims that name it take the job */
    enum queue_priority priority;
    bool force;
    const void *payload;
    size_t payload_bytes; /* at most LIMIT_QUEUE_BODY_BYTES, together LIMIT_QUEUE_PUT_BYTES */
    const struct queue_result *result; /* known already: the job ends as it is put; NULL: not so */
    /* Filled in by queue_put. */
    enum queue_putting putting;
    char put_id[QUEUE_ID_BYTES];
};

/* All of them in one commit, or none. Two with one id: the second joins the first. */
NODISCARD int queue_put(struct queue *queue, struct queue_submission *submissions, size_t count,
                        struct err *err);

/* A queued job ends at once; of a running one the worker learns at its next renewal. *state is what
 * it is then: CANCELLED, RUNNING (asked), or DONE (too late). ERR_MISSING. */
NODISCARD int queue_cancel(struct queue *queue, const char *id, enum queue_state *state,
                           struct err *err);

/* ----------------------------------------------------------------------------------- the reader */

enum queue_bodies { QUEUE_NO_BODIES = 0, QUEUE_PAYLOAD = 1, QUEUE_RESULT = 2 };

/* `bodies`: which of the two to bring. ERR_MISSING. */
NODISCARD int queue_get(struct queue *queue, const char *id, unsigned bodies, struct queue_job *job,
                        struct err *err);
/* The job that ended last with a result that answers for `key` (struct queue_result). ERR_MISSING.
 */
NODISCARD int queue_find(struct queue *queue, const char *key, unsigned bodies,
                         struct queue_job *job, struct err *err);

struct queue_filter {
    int state;         /* enum queue_state, or QUEUE_ANY_STATE */
    const char *batch; /* NULL: of all */
    int64_t before; /* only sequences below it: the last one of the page before; 0: from the top */
    unsigned bodies;
};

/* Newest put first. Fills at most `limit` jobs and says in *count how many. */
NODISCARD int queue_list(struct queue *queue, const struct queue_filter *filter,
                         struct queue_job *jobs, size_t limit, size_t *count, struct err *err);

struct queue_stats {
    struct {
        uint64_t depth;    /* queued */
        int64_t oldest_ms; /* how long the oldest of them has waited; 0: none */
    } priorities[QUEUE_PRIORITIES];
    uint64_t running;
    uint64_t kept; /* ended jobs whose records are there */
    struct {
        char outcome[QUEUE_WORD_BYTES];
        uint64_t count; /* since the store was made */
    } ended[QUEUE_OUTCOMES_MAX];
    size_t ended_count;
    uint64_t lost_leases; /* since the store was made */
    uint64_t documents;   /* some of them past their time, until they are reaped */
};

NODISCARD int queue_stats(struct queue *queue, struct queue_stats *stats, struct err *err);

/* ----------------------------------------------------------------------------------- the worker */

struct queue_claim {
    const char *worker;
    const char *const *needs; /* words of jobs that it can do */
    size_t needs_count;
    int64_t lease_ms; /* 0: the queue's */
    int timeout_ms;   /* how long to wait for a job; 0: only look */
};

/* A job with its payload: *got says whether there was one. Waiters are woken at once by a put of
 * any process. Ends early, without a job, on queue_interrupt. */
NODISCARD int queue_claim(struct queue *queue, const struct queue_claim *claim,
                          struct queue_job *job, bool *got, struct err *err);
/* From now on claims only look and never wait: shutting down. Async-signal-safe it is not. */
void queue_interrupt(struct queue *queue);

enum queue_standing {
    QUEUE_HELD,             /* it is yours for another lease */
    QUEUE_CANCEL_REQUESTED, /* likewise, and somebody wants it to end: finish it as "cancelled" */
    QUEUE_LOST,             /* it is no longer yours: stop, nobody waits for you */
};

/* Of each job as it was claimed (id, sequence and claims are looked at). lease_ms 0: the queue's.
 * One commit. */
NODISCARD int queue_renew(struct queue *queue, const struct queue_job *const *jobs, size_t count,
                          int64_t lease_ms, enum queue_standing *standings, struct err *err);

enum queue_finishing {
    QUEUE_FINISHED,
    QUEUE_REPEATED, /* this very result was there already */
    QUEUE_REFUSED,  /* another result was first, or the job was cancelled, replaced or removed */
};

/* Whoever once claimed the job may, as long as it has no result: also after its lease ran out. */
NODISCARD int queue_finish(struct queue *queue, const struct queue_job *job,
                           const struct queue_result *result, enum queue_finishing *finishing,
                           struct err *err);

/* Hands a job back to be claimed again, in its old place. `counts`: the attempt failed (the last
 * one ends the job as infrastructure_error, with `reason`); else it never took place (a worker that
 * drains). A job whose end was asked for ends as cancelled. Nothing where the job is no longer the
 * caller's. */
NODISCARD int queue_fail(struct queue *queue, const struct queue_job *job, const char *reason,
                         bool counts, struct err *err);

/* ------------------------------------------------------------------------------------- watchers */

/* A job's newest state; steps in between may be left out, the end never is. */
struct queue_event {
    int64_t number; /* rises */
    char id[QUEUE_ID_BYTES];
    char batch[QUEUE_ID_BYTES];
    enum queue_state state; /* RUNNING, DONE, CANCELLED, or QUEUED for one that came back */
    bool cancel_asked;      /* a worker need not wait for its next renewal to know */
    char outcome[QUEUE_WORD_BYTES];
};

/* Told of changes that any process on the store makes after queue_watch came back. One thread of
 * the queue tells all watchers, so `tell` must be short, and may call none of these functions: wake
 * your own thread with it. count 0: events were missed (the store was away, or the watcher too
 * slow); look with queue_get at every job that you wait for. */
struct queue_watcher {
    void (*tell)(struct queue_watcher *watcher, const struct queue_event *events, size_t count);
    struct queue_watcher *next; /* the queue's */
};

/* To wait for a job: watch, then queue_get, then wait. In the other order its end may fall between
 * the two. The watcher is the caller's storage. */
void queue_watch(struct queue *queue, struct queue_watcher *watcher);
/* It is told nothing after this. */
void queue_unwatch(struct queue *queue, struct queue_watcher *watcher);

/* --------------------------------------------------------------------------------- housekeeping */

struct queue_reaping {
    uint64_t returned; /* leases that ran out: jobs queued again */
    uint64_t lost;     /* and jobs that ended so, after too many attempts */
    uint64_t removed;  /* ended jobs past the retention */
    uint64_t expired;  /* documents past their time */
    bool more;         /* it stopped at its bound: call it again soon */
};

/* Every process that serves or works calls it about once a second; a bounded amount of work. */
NODISCARD int queue_reap(struct queue *queue, struct queue_reaping *reaping, struct err *err);

/* A board of short notes, on which workers tell servers on other machines that they live and what
 * they have. A note is gone when its time is up. `name` as ids are, `bytes` at most
 * LIMIT_QUEUE_NOTE_BYTES; count 0 takes the note down. */
NODISCARD int queue_post(struct queue *queue, const char *name, const void *bytes, size_t count,
                         int64_t keep_ms, struct err *err);

struct queue_note {
    char name[QUEUE_ID_BYTES];
    char *bytes; /* NUL behind them */
    size_t count;
};

/* All notes, in the order of their names; at most LIMIT_QUEUE_NOTES. queue_notes_free frees them.
 */
NODISCARD int queue_notes(struct queue *queue, struct queue_note **notes, size_t *count,
                          struct err *err);
void queue_notes_free(struct queue_note *notes, size_t count);

/* ------------------------------------------------------------------------------------ documents */

/* What outlives a process and is no job: an episode, say. Bytes under a name, with a version that
 * rises with each write. Who writes says which version he read, so that of two writers the second
 * learns that he is late. A version is one above that which it replaces; the first one of a name is
 * above all that were ever given, so that a name that was removed and comes back does not repeat
 * them.
 *
 * A write that returned 0 is as safe as a put. A document is gone when its time is up, which each
 * write begins anew; time is measured as for leases, and a boot of SQLite's machine begins it anew,
 * too. Names are as ids, and have nothing to do with those of jobs and notes. */
struct queue_document {
    char *bytes; /* NUL behind them */
    size_t count;
    int64_t version;
    int64_t expires_ms; /* wall-clock time, for people */
};

/* `version`: the one that was read, 0: there must be none. *written false: another write or a
 * removal was first, and nothing was changed. `count` at most LIMIT_QUEUE_BODY_BYTES, `keep_ms` 1
 * to LIMIT_QUEUE_DOCUMENT_MS.
 * May be called again after an error: the same bytes that are there as the version that this write
 * would have made (any, where `version` is 0) are this write, which then took place. */
NODISCARD int queue_document_put(struct queue *queue, const char *name, const void *bytes,
                                 size_t count, int64_t version, int64_t keep_ms, bool *written,
                                 struct err *err);
/* ERR_MISSING: there is none, or its time is up. */
NODISCARD int queue_document_get(struct queue *queue, const char *name,
                                 struct queue_document *document, struct err *err);
void queue_document_deinit(struct queue_document *document);
/* Whatever its version. *removed: whether there was one. */
NODISCARD int queue_document_remove(struct queue *queue, const char *name, bool *removed,
                                    struct err *err);

const char *queue_state_name(enum queue_state state); /* "queued", … */

#endif
