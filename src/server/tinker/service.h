/* service: the Tinker API on the engine of lm/: LoRA adapters of several clients, trained and
 * sampled at once on one base model.
 *
 *   create_model ─► run: adapter, gradients, optimiser ──┐ numbered requests, in their order
 *   forward_backward, optim_step, save, load ────────────┴─► the training thread ─► future
 *   save_weights_for_sampler ─► adapter on disk ─► sampler: frozen ─► asample ─► engine ─► future
 *   retrieve_future ─► held until the future is there
 *
 * A request of a number that was seen gets the future of the first one, and runs once.
 *
 * On disk, under the directory of the options, and so after a restart: checkpoints, what each run
 * is, sessions and samplers. Not on disk: weights of a run since its last checkpoint, and futures:
 * a poll for one that is not known is 410, at which the SDK sends a sample again.
 *
 * Ownership: what the options name is the caller's and outlives the service. Threads: one of the
 * service trains; each set of sampler weights has its engine's.
 */
#pragma once

#include "base/settings.h"
#include "lm/sample/engine.h"
#include "server/http/http.h"

struct tinker_service;

struct tinker_service_options {
    const struct settings *settings; /* tinker.* */
    const char *directory;           /* of checkpoints; made if it is missing */
    const char *model;               /* its name for clients */
    const char *tokenizer_id; /* what the SDK gives to Transformers; NULL: the model's name */
    struct lm_model *base;
    struct lm_engine *engine; /* samples the base */
    struct tokenizer *tokenizer;
    const char *backend;
    size_t threads;
    struct lm_sampler_options sampler; /* of one set of weights */
    size_t positions;                  /* of the longest sequence */
    size_t samples_max;                /* running and waiting; above it 429 */
};

NODISCARD int tinker_service_open(struct tinker_service **out,
                                  const struct tinker_service_options *options, struct err *err);
NODISCARD int tinker_service_add_routes(struct tinker_service *service, struct http_server *server,
                                        struct err *err);
/* Ends training after the request that runs, and samples at once. Before http_stop: polls get 503.
 */
void tinker_service_stop(struct tinker_service *service);
/* After http_stop. NULL is fine. */
void tinker_service_free(struct tinker_service *service);
