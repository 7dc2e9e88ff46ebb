/* fake_train_backend: a training backend that computes nothing, in the place of
 * policy/train_backend.c: a test program that includes this, once, is linked with it. What it was
 * asked is kept; what it answers is made of what it was asked.
 *
 *   sample    the text of `say` for this prompt and seed; its tokens are 1, 2, 3, …
 *   forward   log-probability of a target t: -t / 100
 */
#pragma once

#include "base/json.h"
#include "base/mem.h"
#include "policy/train_backend.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_CALLS 64

struct train_backend {
    enum train_backend_kind kind;
    pthread_mutex_t lock;
    /* Text and length of an answer; below 0: an error instead. */
    int (*say)(struct train_backend *backend, const struct train_backend_sampling *sampling,
               char **text, struct err *err);
    size_t samples;
    size_t forwarded[FAKE_CALLS], forward_count;   /* datums of each call */
    size_t backwarded[FAKE_CALLS], backward_count; /* likewise */
    struct lm_datum last;                          /* the first datum of the last call */
    double loss;                                   /* of each backward */
    double norm;
    int step_result;
    size_t steps;
    uint64_t version;
};

int train_backend_open(struct train_backend **out, const struct train_backend_options *options,
                       struct err *err)
{
    *out = NULL;
    return err_set(err, ERR_UNSUPPORTED, "a fake");
}

int train_backend_open_base(struct train_backend **out, const struct train_backend *of,
                            const struct train_backend_options *options, struct err *err)
{
    return train_backend_open(out, options, err);
}

void train_backend_close(struct train_backend *backend)
{
}

enum train_backend_kind train_backend_kind(const struct train_backend *backend)
{
    return backend->kind;
}

bool train_backend_clips(const struct train_backend *backend)
{
    return true;
}

int train_backend_prompt(struct train_backend *backend, const json_t *messages, bool thinking,
                         struct tokens *prompt, struct err *err)
{
    for (size_t i = 0; i <= json_array_size(messages); i++)
        if (tokens_add(prompt, (int32_t)i, err) < 0)
            return ERR_LIMIT;
    return 0;
}

int train_backend_sample(struct train_backend *backend, const struct tokens *prompt,
                         const struct train_backend_sampling *sampling,
                         struct train_backend_answer *answer, struct err *err)
{
    *answer = (struct train_backend_answer){0};
    pthread_mutex_lock(&backend->lock);
    backend->samples++;
    int result = backend->say(backend, sampling, &answer->text, err);
    pthread_mutex_unlock(&backend->lock);
    if (result < 0)
        return result;
    answer->count = 1 + sampling->seed % 5;
    answer->tokens = mem_alloc(answer->count * sizeof *answer->tokens);
    answer->logprobs = mem_alloc(answer->count * sizeof *answer->logprobs);
    for (size_t i = 0; i < answer->count; i++) {
        answer->tokens[i] = (int32_t)i + 1;
        answer->logprobs[i] = -0.01F * (float)(i + 1);
    }
    answer->stopped = true;
    answer->version = backend->version;
    return 0;
}

void train_backend_answer_deinit(struct train_backend_answer *answer)
{
    mem_free(answer->tokens);
    mem_free(answer->logprobs);
    mem_free(answer->text);
    *answer = (struct train_backend_answer){0};
}

int train_backend_forward(struct train_backend *backend, struct lm_datum *datums, size_t count,
                          const struct loss *loss, const struct loss_config *config,
                          struct loss_sums *sums, struct err *err)
{
    backend->forwarded[backend->forward_count++] = count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < datums[i].count; k++)
            datums[i].logprob[k] = -0.01F * (float)datums[i].targets[k];
    *sums = (struct loss_sums){0};
    return 0;
}

int train_backend_forward_backward(struct train_backend *backend, struct lm_datum *datums,
                                   size_t count, const struct loss *loss,
                                   const struct loss_config *config, struct loss_sums *sums,
                                   struct err *err)
{
    backend->backwarded[backend->backward_count++] = count;
    backend->last = datums[0];
    *sums = (struct loss_sums){.loss = backend->loss, .tokens = (double)count};
    return 0;
}

int train_backend_step(struct train_backend *backend, const struct lm_adam *adam, double *norm,
                       struct err *err)
{
    *norm = backend->norm;
    if (backend->step_result < 0)
        return err_set(err, backend->step_result, "no step");
    backend->steps++;
    return 0;
}

uint64_t train_backend_steps(const struct train_backend *backend)
{
    return backend->steps;
}

int train_backend_refresh(struct train_backend *backend, uint64_t *version, struct err *err)
{
    *version = ++backend->version;
    return 0;
}

int train_backend_save(struct train_backend *backend, const char *directory, const char *name,
                       char **where, struct err *err)
{
    *where = mem_strdup(name);
    return 0;
}

int train_backend_load(struct train_backend *backend, const char *directory, const char *where,
                       bool optimizer, uint64_t steps, struct err *err)
{
    return err_set(err, ERR_MISSING, "%s", where);
}

int train_backend_forget(struct train_backend *backend, const char *directory, const char *where,
                         struct err *err)
{
    return 0;
}

int train_backend_export(struct train_backend *backend, const char *directory, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "%s", directory);
}
