/* optimizer: AdamW over a model's trained parameters, with global-norm clipping. Norms, biases and
 * other vectors have no decay. Its state are two f32 arrays for each trained parameter, in the
 * backend's memory.
 */
#pragma once

#include "base/word_table.h"
#include "lm/model/model.h"

struct lm_optimizer;

/* The defaults are the protocol's: 1e-4, 0.9, 0.95, 1e-12, 0, 0. */
struct lm_adam {
    double rate, beta1, beta2, epsilon, decay;
    double clip; /* bound of the gradients' global norm; 0: none */
};
extern const struct lm_adam lm_adam_defaults;

NODISCARD int lm_optimizer_open(struct lm_optimizer **out, struct lm_model *model, struct err *err);
void lm_optimizer_close(struct lm_optimizer *optimizer);

/* One step with the gradients as they are, then zeroes them. *norm is the norm before clipping. A
 * norm that is not finite changes nothing but the gradients, and is ERR_INPUT. */
NODISCARD int lm_optimizer_step(struct lm_optimizer *optimizer, const struct lm_adam *adam,
                                double *norm, struct err *err);
uint64_t lm_optimizer_steps(const struct lm_optimizer *optimizer);

/* Exact state, f32, in one safetensors file. */
NODISCARD int lm_optimizer_save(struct lm_optimizer *optimizer, const char *path, struct err *err);
NODISCARD int lm_optimizer_load(struct lm_optimizer *optimizer, const char *path, struct err *err);

/* The rate of step `step` (from 0) of `steps`: a linear rise over `warmup` steps that ends at the
 * peak, then the shape, which would meet the floor at step `steps`: no step is spent at a rate of
 * 0. */
#define LM_SCHEDULES(X) X(LM_CONSTANT, "constant") X(LM_LINEAR, "linear") X(LM_COSINE, "cosine")
enum lm_schedule { WORD_SYMBOLS(LM_SCHEDULES) };
double lm_schedule_rate(enum lm_schedule schedule, double peak, double floor, uint64_t warmup,
                        uint64_t steps, uint64_t step);
