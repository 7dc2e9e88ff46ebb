/* train_backend_ops: the operations of one kind of training backend.
 *
 * train_backend.c owns the tokenizer, makes prompts and texts, bounds requests by the context, and
 * separates samples of different versions: no sample runs during `refresh`. The operations work
 * on ids. `sample` receives max_tokens above 0, a seed of 31 bits and an *answer that is empty but
 * for its version, and fills tokens, logprobs, count and stopped; it may leave them partly filled
 * when it fails: train_backend.c cleans up. Threads and errors: as in train_backend.h.
 */
#pragma once

#include "policy/train_backend.h"

#define TRAIN_BACKEND_STOPS_MAX 4

struct train_backend_ops {
    enum train_backend_kind kind;
    /* `stops` end an answer, in addition to the model's own. *context (0: the model's) is set to
     * the actual one. */
    int (*open)(void **state, const struct train_backend_options *options,
                const struct tokens *stops, size_t *context, struct err *err);
    /* train_backend_open_base; NULL: open another one. */
    int (*base)(void **state, const void *of, const struct train_backend_options *options,
                struct err *err);
    void (*close)(void *state);
    int (*sample)(void *state, const struct tokens *prompt,
                  const struct train_backend_sampling *sampling,
                  struct train_backend_answer *answer, struct err *err);
    int (*pass)(void *state, struct lm_datum *datums, size_t count, const struct loss *loss,
                const struct loss_config *config, bool gradients, struct loss_sums *sums,
                struct err *err);
    /* *norm is 0 on entry. */
    int (*step)(void *state, const struct lm_adam *adam, double *norm, struct err *err);
    uint64_t (*steps)(void *state);
    bool (*clips)(const void *state); /* NULL: it does */
    int (*refresh)(void *state, uint64_t *version, struct err *err);
    int (*save)(void *state, const char *directory, const char *name, char **where,
                struct err *err);
    int (*load)(void *state, const char *directory, const char *where, bool optimizer,
                uint64_t steps, struct err *err);
    int (*forget)(void *state, const char *directory, const char *where, struct err *err);
    int (*export)(void *state, const char *directory, struct err *err);
};

extern const struct train_backend_ops train_backend_engine, train_backend_tinker;
