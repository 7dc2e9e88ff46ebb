/* learner: a policy that can be trained, in the operations of the Tinker protocol. What rl/ talks
 * to: it knows no transformer.
 *
 *   engine   lm/ in this process (train_backend_engine.c)
 *   tinker   a Tinker service, or SkyRL's server, over HTTP (train_backend_tinker.c, tinker_*.c)
 *
 *   messages ─► train_backend_prompt ─► ids ─► train_backend_sample ─► ids, log-probabilities, text
 *   datums ─► train_backend_forward_backward … ─► train_backend_step ─► train_backend_refresh ─► new samples
 *
 * Samples come from a frozen copy of the weights, that of the last train_backend_refresh (or of the
 * beginning); its number, the version, goes with every sample: the steps that made it. The engine's
 * samples depend on weights, prompt, seed and settings to the last bit, never on who is sampled
 * beside them. Behind a train_backend_load of tinker comes a train_backend_refresh: a sample between the two
 * has the loaded weights, and the version of before.
 *
 * Ownership: answers and paths are the caller's. Threads: train_backend_prompt and train_backend_sample may be
 * called by any number of threads at once; everything else by one, also while others sample.
 * train_backend_refresh lets samples under way end with the old weights. A loss and its order of sums are
 * the same for every number of threads that sample. Errors: ERR_INPUT (it will not get better),
 * ERR_LIMIT (a prompt above the context), ERR_IO, ERR_TIMEOUT, ERR_CANCELLED. A learner whose step
 * (tinker: or train_backend_forward_backward, or train_backend_load) failed in the middle says so until a
 * train_backend_load.
 */
#ifndef WARPGYM_POLICY_TRAIN_BACKEND_H
#define WARPGYM_POLICY_TRAIN_BACKEND_H

#include "base/err.h"
#include "base/settings.h"
#include "lm/tokenizer/tokenizer.h"
#include "lm/train/loss.h"
#include "lm/train/trainer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct train_backend;

struct train_backend_options {
    const char *kind;      /* "engine", "tinker" */
    const char *model;     /* engine: a directory; tinker: the base model's name */
    const char *tokenizer; /* a directory; NULL: the model's */
    const char *url;       /* tinker; NULL: TINKER_BASE_URL */
    size_t lora_rank;      /* 0: all parameters (engine alone) */
    double lora_alpha;     /* 0: twice the rank. tinker: the server's own, it is not asked */
    uint64_t seed;         /* of fresh adapters */
    size_t context;        /* tokens of prompt and answer together */
    size_t batch_tokens;   /* engine: rows of one training pass */
    size_t at_once;        /* samples under way */
    bool recompute;        /* engine */
    const char *device;    /* engine: "cpu", "reference" */
    size_t threads;        /* engine */
    const struct settings *settings; /* policy.*: how long a server is waited for; engine: unused */
    const _Atomic int *cancelled;
};

struct train_backend_sampling {
    size_t max_tokens; /* 0: as many as the context leaves */
    double temperature, top_p;
    size_t top_k;  /* 0: all */
    uint64_t seed; /* its low 31 bits count */
};

struct train_backend_answer {
    int32_t *tokens; /* the stop token too, where one ended it */
    float *logprobs; /* [count] at temperature 1 with nothing cut away */
    size_t count;
    char *text;       /* without special tokens */
    bool stopped;     /* else it ran out of tokens */
    uint64_t version; /* of the weights that wrote it */
};

NODISCARD int train_backend_open(struct train_backend **out,
                                 const struct train_backend_options *options, struct err *err);
/* What `of`, which was opened with these options and has neither learned nor loaded anything yet,
 * is then: for train_backend_forward alone. The engine keeps a copy of what is trained, and shares the
 * rest: `of` is closed after it. */
NODISCARD int train_backend_open_base(struct train_backend **out, const struct train_backend *of,
                                      const struct train_backend_options *options, struct err *err);
/* NULL is fine. */
void train_backend_close(struct train_backend *backend);
const char *train_backend_kind(const struct train_backend *backend);

/* The ids of [{"role", "content"}, …] up to the opening of an answer; appended. */
NODISCARD int train_backend_prompt(struct train_backend *backend, const json_t *messages,
                                   bool thinking, struct tokens *prompt, struct err *err);
NODISCARD int train_backend_sample(struct train_backend *backend, const struct tokens *prompt,
                                   const struct train_backend_sampling *sampling,
                                   struct train_backend_answer *answer, struct err *err);
void train_backend_answer_deinit(struct train_backend_answer *answer);

/* As lm_trainer_forward_backward and lm_trainer_forward: the engine keeps no gradients of a loss
 * that is not finite; a service does. tinker: one target a row, no dual clip and no entropy
 * (ERR_INPUT; a datum's entropy and collision become NAN); sums are worked out here from the
 * server's log-probabilities. */
NODISCARD int train_backend_forward_backward(struct train_backend *backend, struct lm_datum *datums,
                                             size_t count, const struct loss *loss,
                                             const struct loss_config *config,
                                             struct loss_sums *sums, struct err *err);
NODISCARD int train_backend_forward(struct train_backend *backend, struct lm_datum *datums,
                                    size_t count, const struct loss *loss,
                                    const struct loss_config *config, struct loss_sums *sums,
                                    struct err *err);
/* *norm: of the gradients before clipping; NAN where the service does not tell. With ERR_INPUT and
 * a norm that is not finite nothing changed but the gradients, which are gone; after any other
 * error it is 0. */
NODISCARD int train_backend_step(struct train_backend *backend, const struct lm_adam *adam,
                                 double *norm, struct err *err);
NODISCARD int train_backend_refresh(struct train_backend *backend, uint64_t *version,
                                    struct err *err);

/* That made the weights that are trained. */
uint64_t train_backend_steps(const struct train_backend *backend);

/* Weights and optimiser. `directory` is of the run, `name` of the checkpoint; *where (malloc) is
 * what train_backend_load takes: a path relative to `directory`, or tinker://… */
NODISCARD int train_backend_save(struct train_backend *backend, const char *directory,
                                 const char *name, char **where, struct err *err);
/* `steps`: what train_backend_steps was then. The engine knows them with `optimizer` alone; a service
 * keeps no count. */
NODISCARD int train_backend_load(struct train_backend *backend, const char *directory,
                                 const char *where, bool optimizer, uint64_t steps,
                                 struct err *err);
/* Removes a saved checkpoint; one that is not there is fine. */
NODISCARD int train_backend_forget(struct train_backend *backend, const char *directory,
                                   const char *where, struct err *err);
/* Model or adapter as `warpgym lm` and Transformers read them. ERR_UNSUPPORTED: it is elsewhere. */
NODISCARD int train_backend_export(struct train_backend *backend, const char *directory,
                                   struct err *err);

#endif
