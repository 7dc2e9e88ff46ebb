/* train_backend: a policy that can be trained, with the operations of the Tinker protocol. rl/
 * depends on this interface only, not on the transformer.
 *
 *   engine   lm/ in this process (train_backend_engine.c)
 *   tinker   a Tinker service, or SkyRL's server, over HTTP (train_backend_tinker.c, tinker_*.c)
 *
 *   messages ─► train_backend_prompt ─► ids ─► train_backend_sample ─► ids, log-probabilities, text
 *   datums ─► train_backend_forward_backward … ─► train_backend_step ─► train_backend_refresh
 *          ─► new samples
 *
 * Samples come from a frozen copy of the weights, that of the last train_backend_refresh (or the
 * initial ones). Its version, the number of steps behind it, goes with every sample. The engine's
 * samples depend on weights, prompt, seed and settings to the last bit, never on concurrent
 * samples. Call train_backend_refresh after a train_backend_load of tinker: a sample between the
 * two has the loaded weights and the former version.
 *
 * Ownership: answers and paths are the caller's. Threads: any number of threads may call
 * train_backend_prompt and train_backend_sample at once; everything else belongs to one thread,
 * also while others sample. train_backend_refresh lets samples in flight end with the old weights.
 * A loss and the order of its sums do not depend on the number of sampling threads. Errors:
 * ERR_INPUT (permanent), ERR_LIMIT (a prompt above the context), ERR_IO, ERR_TIMEOUT,
 * ERR_CANCELLED. A backend whose step (tinker: or train_backend_forward_backward, or
 * train_backend_load) failed midway reports so until a train_backend_load.
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"
#include "lm/tokenizer/tokenizer.h"
#include "lm/train/loss.h"
#include "lm/train/trainer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct train_backend;

#define TRAIN_BACKENDS(X) X(TRAIN_ENGINE, "engine") X(TRAIN_TINKER, "tinker")
enum train_backend_kind { WORD_SYMBOLS(TRAIN_BACKENDS) };

/* How a service adds up the losses of a pass (policy/tinker_server.h). */
#define TRAIN_REDUCTIONS(X)                                                                        \
    X(TRAIN_REDUCTION_AUTO, "auto") X(TRAIN_REDUCTION_SUM, "sum") X(TRAIN_REDUCTION_MEAN, "mean")
enum train_reduction { WORD_SYMBOLS(TRAIN_REDUCTIONS) };

struct train_backend_options {
    enum train_backend_kind kind;
    const char *model;              /* engine: a directory; tinker: the base model's name */
    const char *tokenizer;          /* a directory; NULL: the model's */
    const char *url;                /* tinker; NULL: TINKER_BASE_URL */
    bool url_is_known;              /* it has answered before: one that does not is waited for */
    enum train_reduction reduction; /* tinker */
    size_t lora_rank;               /* 0: all parameters (engine only) */
    double lora_alpha;      /* 0: twice the rank. tinker: not sent, the server has its own */
    uint64_t seed;          /* of fresh adapters */
    size_t context;         /* tokens of prompt and answer together */
    size_t batch_tokens;    /* engine: rows of one training pass */
    size_t at_once;         /* samples in flight */
    bool recompute;         /* engine */
    unsigned sampling_bits; /* engine: of the sampler's mantissas; 0: all */
    const char *device;     /* engine: "cpu", "reference" */
    size_t threads;         /* engine */
    const struct settings *settings; /* policy.*: timeouts of a server; the engine ignores them */
    const _Atomic int *cancelled;
};

struct train_backend_sampling {
    size_t max_tokens; /* 0: as many as the context leaves */
    double temperature, top_p;
    size_t top_k;  /* 0: all */
    uint64_t seed; /* its low 31 bits count */
};

struct train_backend_answer {
    int32_t *tokens; /* including the stop token that ended it */
    float *logprobs; /* [count] at temperature 1, untruncated */
    size_t count;
    char *text;       /* without special tokens */
    bool stopped;     /* else it reached max_tokens */
    uint64_t version; /* of the weights that sampled it */
};

NODISCARD int train_backend_open(struct train_backend **out,
                                 const struct train_backend_options *options, struct err *err);
/* A frozen backend with the weights that `of`, opened with these options, had at the start; only
 * train_backend_forward may be called on it. `of` must not have stepped or loaded yet. The engine
 * copies the trained weights and shares the rest: close `of` after it. */
NODISCARD int train_backend_open_base(struct train_backend **out, const struct train_backend *of,
                                      const struct train_backend_options *options, struct err *err);
/* NULL is fine. */
void train_backend_close(struct train_backend *backend);
enum train_backend_kind train_backend_kind(const struct train_backend *backend);
/* Whether a step clips gradients as struct lm_adam says; a server may not. */
bool train_backend_clips(const struct train_backend *backend);

/* Appends the ids of [{"role", "content"}, …] up to the start of an answer. */
NODISCARD int train_backend_prompt(struct train_backend *backend, const json_t *messages,
                                   bool thinking, struct tokens *prompt, struct err *err);
NODISCARD int train_backend_sample(struct train_backend *backend, const struct tokens *prompt,
                                   const struct train_backend_sampling *sampling,
                                   struct train_backend_answer *answer, struct err *err);
void train_backend_answer_deinit(struct train_backend_answer *answer);

/* As lm_trainer_forward_backward and lm_trainer_forward: the engine drops the gradients of a loss
 * that is not finite; a service keeps them. tinker: one target a row, no dual clip and no entropy
 * (ERR_INPUT; a datum's entropy and collision become NAN); sums are computed here from the server's
 * log-probabilities. */
NODISCARD int train_backend_forward_backward(struct train_backend *backend, struct lm_datum *datums,
                                             size_t count, const struct loss *loss,
                                             const struct loss_config *config,
                                             struct loss_sums *sums, struct err *err);
NODISCARD int train_backend_forward(struct train_backend *backend, struct lm_datum *datums,
                                    size_t count, const struct loss *loss,
                                    const struct loss_config *config, struct loss_sums *sums,
                                    struct err *err);
/* *norm: of the gradients before clipping; NAN if the service does not report it. After
 * ERR_INPUT with a norm that is not finite only the gradients were dropped; after any other
 * error *norm is 0. */
NODISCARD int train_backend_step(struct train_backend *backend, const struct lm_adam *adam,
                                 double *norm, struct err *err);
NODISCARD int train_backend_refresh(struct train_backend *backend, uint64_t *version,
                                    struct err *err);

/* The number of steps behind the trained weights. */
uint64_t train_backend_steps(const struct train_backend *backend);

/* Saves weights and optimiser state. `directory` is the run's, `name` the checkpoint's; *where
 * (malloc) is what train_backend_load takes: a path relative to `directory`, or tinker://… */
NODISCARD int train_backend_save(struct train_backend *backend, const char *directory,
                                 const char *name, char **where, struct err *err);
/* `steps`: train_backend_steps at that time. The engine restores them only with `optimizer`; a
 * service keeps no count. */
NODISCARD int train_backend_load(struct train_backend *backend, const char *directory,
                                 const char *where, bool optimizer, uint64_t steps,
                                 struct err *err);
/* Removes a saved checkpoint; a missing one is no error. */
NODISCARD int train_backend_forget(struct train_backend *backend, const char *directory,
                                   const char *where, struct err *err);
/* Writes the model or adapter in the format of `warpgym lm` and Transformers. ERR_UNSUPPORTED: the
 * weights are on a server. */
NODISCARD int train_backend_export(struct train_backend *backend, const char *directory,
                                   struct err *err);
