/* tinker_model: one model on a Tinker server, and its requests in the order of their numbers.
 *
 * A number stands for one request for ever, and no number is left out: a server does what it has
 * seen before not again, and waits for what is missing. So a number is spent when the server took
 * the request, and free when it refused it. Where a request ended without a word on which of the
 * two it was, it is kept, and sent again as it was before the next one (its "debt").
 *
 * A model is made when the first request needs it, so that going on from a checkpoint makes one,
 * not two. `torn` says that nobody knows what it holds: no request is sent then until a checkpoint
 * is loaded, which is a new model on the server ("create from state").
 *
 * Threads: `lock` is the caller's to hold around everything but init and deinit.
 */
#ifndef WARPGYM_POLICY_TINKER_MODEL_H
#define WARPGYM_POLICY_TINKER_MODEL_H

#include "policy/tinker_session.h"
#include "policy/train_backend.h"

#include <pthread.h>

struct tinker_model {
    struct tinker_link *link, *parting;
    const _Atomic int *cancelled;
    struct tinker_session session;
    char *base;
    size_t rank;
    uint64_t seed;

    pthread_mutex_t lock;
    char *id;        /* NULL: there is none yet */
    char *promise;   /* of one, that was not waited out; NULL: none */
    uint64_t models; /* that the session has made */
    uint64_t number; /* of the last request that the server took */
    uint64_t steps;
    bool torn;
    struct tinker_debt {
        const char *target; /* NULL: none */
        int fine;
        struct buf body;
    } debt;
};

/* `url` is an address. Opens a session; *model is zeroed. */
NODISCARD int tinker_model_init(struct tinker_model *model,
                                const struct train_backend_options *options, const char *url,
                                struct err *err);
/* After an init that failed, too. */
void tinker_model_deinit(struct tinker_model *model);

struct tinker_request {
    struct tinker_link *link;
    const char *target;
    int fine; /* as in tinker_call */
};

/* Begins a request's body (tinker_begin), for the caller to add to. */
NODISCARD int tinker_model_begin(struct tinker_model *model, const struct tinker_request *request,
                                 struct buf *body, struct err *err);
/* Ends the body, which stays the caller's, and sends it. *id as of tinker_submit; *sent may be
 * NULL. */
NODISCARD int tinker_model_send(struct tinker_model *model, const struct tinker_request *request,
                                struct buf *body, char **id, struct tinker_sent *sent,
                                struct err *err);
/* And waits for what comes of it. */
NODISCARD int tinker_model_do(struct tinker_model *model, const struct tinker_request *request,
                              struct buf *body, json_t **result, struct tinker_sent *sent,
                              struct err *err);
/* One that is only promised, too, if it has come by now. Best effort: a session that ends takes its
 * models along. */
void tinker_model_unload(struct tinker_model *model);

#endif
