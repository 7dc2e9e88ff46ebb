/* tinker_server: which server speaks the protocol, and how its training departs from Tinker's.
 *
 * Tinker adds up a loss over tokens and datums. SkyRL's server on JAX divides the loss of a datum
 * by the sum of its weights (all 1 unless they are sent), and the gradient of a step by its datums
 * (NovaSky-AI/SkyRL, backends/jax: loss_for_lora, AccumulatedGradients.get_mean), and does not clip
 * gradients. A pass for such a server is rewritten so that its gradient is Tinker's:
 *
 *   advantages   times rows of the datum × datums of the step; a loss is linear in them
 *   cross_entropy, whose weights cancel in that quotient, becomes cispo with both bounds 1, which
 *                is -Σ A p: its advantages are the weights
 *
 * SkyRL's GPU backends add up as Tinker does; only the metrics of a pass show which it is.
 * Threads: pure, apart from tinker_server_recognise.
 */
#pragma once

#include "policy/tinker_link.h"
#include "policy/train_backend.h"

struct tinker_server {
    bool skyrl;
    bool mean;   /* divides as SkyRL on JAX does */
    bool chosen; /* `mean` is the user's */
    bool clips;  /* optim_step clips by the norm of the gradient */
};

/* Asks the server for the description at its root, which only SkyRL has. */
NODISCARD int tinker_server_recognise(struct tinker_server *server, struct tinker_link *link,
                                      enum train_reduction reduction, struct err *err);
/* What the answers to a pass and to a step say: ERR_PROTOCOL if the server divides otherwise than
 * was presumed. The step must not be used then. */
NODISCARD int tinker_server_check(const struct tinker_server *server, const json_t *result,
                                  struct err *err);

/* A pass whose gradient the server divides. */
struct tinker_mean {
    const struct loss *loss;
    struct loss_config config;
    struct lm_datum *datums;
    float *values; /* of all datums */
};
/* `whole`: datums of the step, to which these `count` belong. */
void tinker_mean_init(struct tinker_mean *mean, const struct loss *loss,
                      const struct loss_config *config, const struct lm_datum *datums, size_t count,
                      size_t whole);
void tinker_mean_deinit(struct tinker_mean *mean);
