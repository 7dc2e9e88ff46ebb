/* tinker_model: one model on a Tinker server, and its requests in the order of their numbers.
 *
 * A number belongs to one request for ever, and no number is skipped: a server never repeats a
 * request that it has seen, and waits for missing ones. So a number is used up when the server took
 * the request, and free when the server refused it. If it is unknown which of the two happened, the
 * request is kept as `unresolved` and sent again unchanged before the next one.
 *
 * A model is created by the first request that needs it, so that resuming from a checkpoint creates
 * one model, not two. `torn` means that the model's state is unknown: no request is sent until a
 * checkpoint is loaded, which creates a new model on the server ("create from state").
 *
 * Threads: the caller holds `lock` around everything but init and deinit.
 */
#pragma once

#include "policy/tinker_server.h"
#include "policy/tinker_session.h"
#include "policy/train_backend.h"

#include <pthread.h>

/* The encoding of passes: protocol buffers unless the server refuses the first of them. */
enum tinker_passes { TINKER_PASSES_UNKNOWN, TINKER_PASSES_PROTO, TINKER_PASSES_JSON };

struct tinker_model {
    struct tinker_token token; /* of all links */
    struct tinker_link *link, *shutdown;
    const _Atomic int *cancelled;
    struct tinker_server server;
    struct tinker_session session;
    char *base;
    size_t rank;
    uint64_t seed;

    pthread_mutex_t lock;
    char *id;        /* NULL: not created yet */
    char *future;    /* of a model that was not awaited; NULL: none */
    uint64_t models; /* created in this session */
    uint64_t number; /* of the last request that the server took */
    uint64_t steps;
    bool torn;
    bool passed; /* gradients of a pass wait for a step */
    enum tinker_passes passes;
    struct tinker_unresolved {
        const char *target; /* NULL: none */
        int accepted;
        const char *content;
        struct buf body;
    } unresolved;
};

/* Opens a session at `url`; *model is zeroed. */
NODISCARD int tinker_model_init(struct tinker_model *model,
                                const struct train_backend_options *options, const char *url,
                                struct err *err);
/* After a failed init, too. */
void tinker_model_deinit(struct tinker_model *model);

struct tinker_request {
    struct tinker_link *link;
    const char *target;
    int accepted;        /* as in tinker_call */
    const char *content; /* NULL: JSON */
    tinker_decode *decode;
};

/* Begins a request's body (tinker_begin), to which the caller adds; one that is not JSON is empty
 * and gets model->id and the number model->number + 1 from the caller. */
NODISCARD int tinker_model_begin(struct tinker_model *model, const struct tinker_request *request,
                                 struct buf *body, struct err *err);
/* Ends the body, sends it and releases it. *id as in tinker_submit; *sent may be NULL. */
NODISCARD int tinker_model_send(struct tinker_model *model, const struct tinker_request *request,
                                struct buf *body, char **id, struct tinker_sent *sent,
                                struct err *err);
/* tinker_model_send, then awaits the result. */
NODISCARD int tinker_model_do(struct tinker_model *model, const struct tinker_request *request,
                              struct buf *body, json_t **result, struct tinker_sent *sent,
                              struct err *err);
/* Unloads the model, also one whose future is ready by now. Best effort: the server drops a
 * session's models when the session ends. */
void tinker_model_unload(struct tinker_model *model);
