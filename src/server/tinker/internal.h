/* internal: what the files of the Tinker API share.
 *
 *   about.c        what the server is         sessions.c     sessions
 *   runs.c         training runs              queue.c        numbered requests, training thread
 *   training.c     passes and steps           checkpoints.c  save, load, list, delete
 *   files.c        what lies on disk          archive.c      download of an adapter
 *   samplers.c     frozen weights             sampling.c     asample
 *   engines.c      weights that sample now    futures.c      results and polls
 *
 * One lock guards all tables; it is held briefly, never while something is computed or saved. Runs
 * and futures are freed when their last user lets go.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "server/tinker/pass_read.h"
#include "server/tinker/service.h"
#include "server/tinker/tinker_settings.h"

#include <pthread.h>
#include <stdatomic.h>

#include <uthash.h>

#define TINKER_ID_BYTES 128 /* with the NUL */
#define TINKER_RETRY_S 1

/* --- futures --- */

enum tinker_result { TINKER_RESULT_JSON, TINKER_RESULT_PASS, TINKER_RESULT_SAMPLE };

struct tinker_poll;
struct tinker_engine;

struct tinker_future {
    char id[TINKER_ID_BYTES];
    char *key;         /* of the request: the same gets the same future; NULL: none */
    char *model;       /* the run, or NULL */
    size_t samples;    /* of a sample */
    uint64_t sampling; /* the engine's number of it, while it samples, else 0 */
    struct tinker_engine *engine;
    atomic_size_t refs;
    /* Below: under the lock; constant once `done`. */
    bool done;
    enum tinker_result kind;
    char *bytes; /* JSON text or protocol buffer; NULL: failed */
    size_t count;
    struct err err;
    struct tinker_poll *polls;
    struct tinker_future *prev, *next; /* done, oldest first */
    UT_hash_handle by_id, by_key;
};

/* --- sessions, runs, samplers --- */

struct tinker_session {
    char id[TINKER_ID_BYTES];
    int64_t seen_ns, touched_ns; /* last heartbeat; last time it was written down */
    UT_hash_handle hh;
};

struct tinker_request;
struct tinker_engines;

struct tinker_run {
    char id[TINKER_ID_BYTES], session[TINKER_ID_BYTES];
    struct lm_lora lora;
    bool mlp, attention;
    json_t *metadata; /* the user's, or NULL */
    int64_t created_ms;
    atomic_size_t refs;
    _Atomic int64_t used_ms;
    /* The training thread's. */
    uint64_t seed;
    struct lm_model *model; /* NULL: not yet, or unloaded */
    struct lm_trainer *trainer;
    bool torn;        /* a checkpoint was loaded only in part */
    char *failed;     /* why a pass since the last step failed, or NULL */
    uint64_t unnamed; /* sets of sampler weights without a name so far */
    /* Under the lock. */
    int64_t next; /* number of the request that is due */
    struct tinker_request *requests;
    size_t waiting;
    uint64_t served; /* when a request of it last ran: the least recent one is due */
    bool closed;     /* unloaded, or its session ended */
    UT_hash_handle hh;
};

/* A request of a run, in the order of numbers. */
struct tinker_request {
    const struct tinker_operation *operation;
    struct tinker_run *run;
    struct tinker_future *future;
    int64_t number; /* -1: none, as it came */
    int64_t came_ns;
    json_t *body;             /* or */
    struct tinker_pass *pass; /* of a pass */
    struct err err;           /* it is refused, in its turn */
    struct tinker_request *prev, *next;
};

struct tinker_operation {
    const char *name; /* the request's `type` */
    enum tinker_result kind;
    /* Appends the result. */
    int (*run)(struct tinker_service *service, struct tinker_request *request, struct buf *result,
               struct err *err);
};

struct tinker_sampler {
    char id[TINKER_ID_BYTES], session[TINKER_ID_BYTES];
    char *path;      /* tinker://…, or NULL: the base or unnamed */
    char *directory; /* of the adapter, or NULL: the base */
    UT_hash_handle hh;
};

struct tinker_service {
    struct tinker_service_options options;
    char *directory, *model, *tokenizer_id;
    struct lm_backend *training; /* the training thread's */
    pthread_t thread;
    struct tinker_engines *engines;
    char archive_secret[40];

    pthread_mutex_t lock; /* all below */
    pthread_cond_t work;
    bool quit;
    struct tinker_session *sessions;
    struct tinker_run *runs;
    struct tinker_sampler *samplers;
    struct tinker_future *by_id, *by_key, *done;
    uint64_t kept_bytes; /* of done futures */
    uint64_t serial, served;
    size_t sampling; /* samples in the engines */
};

static inline const struct tinker_settings *tinker_of(const struct tinker_service *service)
{
    return tinker_settings(service->options.settings);
}

/* names.c: plain words for paths and ids: letters, digits and -_.: of at most 120 bytes. */
bool tinker_is_plain(const char *text);
/* "tinker://RUN/weights/NAME" or "…/sampler_weights/NAME". */
struct tinker_saved {
    char run[TINKER_ID_BYTES], kind[32], name[TINKER_ID_BYTES];
};
NODISCARD int tinker_saved_parse(struct tinker_saved *saved, const char *path, struct err *err);
/* Of the segments :run, :kind and :name of a path. */
NODISCARD bool tinker_saved_of(struct tinker_saved *saved, const struct http_request *request,
                               struct http_response *response);
extern const char tinker_training_kind[], tinker_sampler_kind[], tinker_external_kind[];

/* tables.c; with the lock. A table is iterated by hh.next. */
#define TINKER_TABLES(X) X(session, tinker_session) X(run, tinker_run) X(sampler, tinker_sampler)
#define X(name, type)                                                                              \
    struct type *tinker_##name##_get(const struct tinker_service *service, const char *id);        \
    void tinker_##name##_put(struct tinker_service *service, struct type *entry);                  \
    void tinker_##name##_remove(struct tinker_service *service, struct type *entry);
TINKER_TABLES(X)
#undef X
struct tinker_future *tinker_future_by_id(const struct tinker_service *service, const char *id);
struct tinker_future *tinker_future_by_key(const struct tinker_service *service, const char *key);
void tinker_future_put(struct tinker_service *service, struct tinker_future *future);
void tinker_future_remove(struct tinker_service *service, struct tinker_future *future);

/* futures.c */
/* The future of a request: *known, if it was seen before; else a new one. With the lock. `key` may
 * be NULL. Each gives a reference. */
struct tinker_future *tinker_future_for(struct tinker_service *service, const char *key,
                                        bool *known);
void tinker_future_unref(struct tinker_future *future);
/* With the lock: no trace is left of one that never ran. */
void tinker_future_forget(struct tinker_service *service, struct tinker_future *future);
/* `result` >= 0: takes what is in `bytes`; else the failure. Answers polls. Without the lock. */
void tinker_future_end(struct tinker_service *service, struct tinker_future *future,
                       enum tinker_result kind, int result, struct buf *bytes,
                       const struct err *err);
/* The answer to a submission. */
void tinker_future_show(const struct tinker_future *future, struct http_response *response);

/* queue.c */
/* Takes the pass, also where it refuses, and copies the body, which is the handler's thread's.
 * `number` -1: none. */
void tinker_queue_submit(struct tinker_service *service, const struct tinker_operation *operation,
                         const char *model, int64_t number, json_t *body, struct tinker_pass *pass,
                         const struct err *err, struct http_response *response);
void tinker_request_free(struct tinker_request *request);
void *tinker_queue_drive(void *context);

/* runs.c */
void tinker_run_unref(struct tinker_run *run);
/* The training thread's. */
void tinker_run_unload(struct tinker_run *run);
NODISCARD int tinker_run_check(const struct tinker_run *run, struct err *err);
/* load_weights with a session instead of a model: a new run, with the adapter of the checkpoint. */
void tinker_create_from(struct tinker_service *service, json_t *body,
                        struct http_response *response);

/* checkpoints.c: the operation load_weights. */
int tinker_load_run(struct tinker_service *service, struct tinker_request *request,
                    struct buf *result, struct err *err);

/* sessions.c; with the lock */
struct tinker_session *tinker_session_find(struct tinker_service *service, const char *id);
/* Runs are closed, samplers go; the files of the session too. Without the lock. */
void tinker_session_end(struct tinker_service *service, const char *id);
void tinker_sessions_expire(struct tinker_service *service);

/* files.c */
/* DIRECTORY/RUN, …/RUN/KIND, …/RUN/KIND/NAME; the caller's (mem_free). */
char *tinker_run_directory(const struct tinker_service *service, const char *run);
char *tinker_saved_directory(const struct tinker_service *service,
                             const struct tinker_saved *saved);
char *tinker_unnamed_directory(const struct tinker_service *service, const char *run,
                               uint64_t number);
/* What a run is, from its file; the caller's reference. ERR_MISSING. */
NODISCARD int tinker_run_read(const struct tinker_service *service, const char *run, json_t **out,
                              struct err *err);
NODISCARD int tinker_run_write(const struct tinker_service *service, const struct tinker_run *run,
                               struct err *err);
/* Beside a checkpoint: when it was saved, when it expires, the user's words. */
NODISCARD int tinker_checkpoint_describe(const struct tinker_service *service,
                                         const struct tinker_saved *saved, const json_t *request,
                                         struct err *err);
/* ERR_MISSING. */
NODISCARD int tinker_checkpoint_exists(const struct tinker_service *service,
                                       const struct tinker_saved *saved, struct err *err);
NODISCARD int tinker_checkpoint_delete(const struct tinker_service *service,
                                       const struct tinker_saved *saved, struct err *err);
/* ttl_seconds null: never. */
NODISCARD int tinker_checkpoint_expire(const struct tinker_service *service,
                                       const struct tinker_saved *saved, const json_t *ttl,
                                       struct err *err);
/* Checkpoints of a run (NULL: of all), newest first; a new list. */
json_t *tinker_checkpoints_list(const struct tinker_service *service, const char *run);
/* All runs, the latest first; a new list. */
json_t *tinker_runs_list(const struct tinker_service *service);
void tinker_checkpoints_expire(const struct tinker_service *service);
/* Small records: DIRECTORY/.sessions/ID.json, DIRECTORY/.samplers/ID.json. */
NODISCARD int tinker_record_write(const struct tinker_service *service, const char *kind,
                                  const char *id, const json_t *record, struct err *err);
json_t *tinker_record_read(const struct tinker_service *service, const char *kind, const char *id);
void tinker_record_remove(const struct tinker_service *service, const char *kind, const char *id);
/* Calls for each record's id. */
void tinker_records_each(const struct tinker_service *service, const char *kind,
                         void (*one)(struct tinker_service *service, const char *id));

/* samplers.c */
void tinker_sampler_free(struct tinker_sampler *sampler);
NODISCARD int tinker_sampler_create(struct tinker_service *service, const char *session,
                                    int64_t number, const char *path, const char *directory,
                                    char id[TINKER_ID_BYTES], struct err *err);
/* A copy of what is needed to sample; the caller's (mem_free), *directory NULL: the base.
 * ERR_MISSING. */
NODISCARD int tinker_sampler_find(struct tinker_service *service, const char *id, char **path,
                                  char **directory, struct err *err);

/* engines.c: sets of weights that sample now; the least recently used one is closed. */
NODISCARD int tinker_engines_open(struct tinker_engines **out, struct tinker_service *service,
                                  struct err *err);
/* Samples in flight end as cancelled; none begins after it. */
void tinker_engines_stop(struct tinker_engines *engines);
void tinker_engines_close(struct tinker_engines *engines);
/* ERR_LIMIT: all are busy; come again. */
NODISCARD int tinker_engine_take(struct tinker_service *service, const char *directory,
                                 struct tinker_engine **out, struct err *err);
struct lm_engine *tinker_engine_of(const struct tinker_engine *engine);
/* Never waits. */
void tinker_engine_return(struct tinker_engine *engine);

/* pass_write.c: results, as protocol buffers. */
void tinker_pass_write(struct buf *out, const struct tinker_pass *pass,
                       const struct loss_sums *sums);
struct tinker_samples {
    const struct lm_sample *samples;
    size_t count, prompt_count;
    const float *prompt;           /* NULL: not asked for */
    const struct lm_top *top;      /* [prompt_count, width] */
    size_t width;                  /* of all lists of the most probable */
    size_t prompt_top, sample_top; /* of them, what is asked for */
};
void tinker_samples_write(struct buf *out, const struct tinker_samples *samples);

/* The body as JSON; NULL: the response is a refusal. */
json_t *tinker_body(struct http_request *request, struct http_response *response);
/* A text of the body that is a plain word; NULL: the response is a refusal. */
const char *tinker_word(const json_t *body, const char *key, struct http_response *response);
/* seq_id and its like: -1 where there is none. */
int64_t tinker_number(const json_t *body, const char *key);
