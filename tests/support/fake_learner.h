/* fake_learner: a learner that computes nothing, in the place of policy/learner.c: a test program
 * that includes this, once, is linked with it. What it was asked is kept; what it answers is made
 * of what it was asked.
 *
 *   sample    the text of `say` for this prompt and seed; its tokens are 1, 2, 3, …
 *   forward   log-probability of a target t: -t / 100
 */
#ifndef WARPGYM_TESTS_FAKE_LEARNER_H
#define WARPGYM_TESTS_FAKE_LEARNER_H

#include "base/json.h"
#include "base/mem.h"
#include "policy/learner.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_CALLS 64

struct learner {
    const char *kind;
    pthread_mutex_t lock;
    /* Text and length of an answer; below 0: an error instead. */
    int (*say)(struct learner *learner, const struct learner_sampling *sampling, char **text,
               struct err *err);
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

int learner_open(struct learner **out, const struct learner_options *options, struct err *err)
{
    (void)options;
    *out = NULL;
    return err_set(err, ERR_UNSUPPORTED, "a fake");
}

int learner_open_base(struct learner **out, const struct learner *of,
                      const struct learner_options *options, struct err *err)
{
    (void)of;
    return learner_open(out, options, err);
}

void learner_close(struct learner *learner)
{
    (void)learner;
}

const char *learner_kind(const struct learner *learner)
{
    return learner->kind ? learner->kind : "engine";
}

int learner_prompt(struct learner *learner, const json_t *messages, bool thinking,
                   struct tokens *prompt, struct err *err)
{
    (void)learner;
    (void)thinking;
    for (size_t i = 0; i <= json_array_size(messages); i++)
        if (tokens_add(prompt, (int32_t)i, err) < 0)
            return ERR_LIMIT;
    return 0;
}

int learner_sample(struct learner *learner, const struct tokens *prompt,
                   const struct learner_sampling *sampling, struct learner_answer *answer,
                   struct err *err)
{
    (void)prompt;
    *answer = (struct learner_answer){0};
    pthread_mutex_lock(&learner->lock);
    learner->samples++;
    int result = learner->say(learner, sampling, &answer->text, err);
    pthread_mutex_unlock(&learner->lock);
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
    answer->version = learner->version;
    return 0;
}

void learner_answer_deinit(struct learner_answer *answer)
{
    mem_free(answer->tokens);
    mem_free(answer->logprobs);
    mem_free(answer->text);
    *answer = (struct learner_answer){0};
}

int learner_forward(struct learner *learner, struct lm_datum *datums, size_t count,
                    const struct loss *loss, const struct loss_config *config,
                    struct loss_sums *sums, struct err *err)
{
    (void)loss;
    (void)config;
    (void)err;
    learner->forwarded[learner->forward_count++] = count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < datums[i].count; k++)
            datums[i].logprob[k] = -0.01F * (float)datums[i].targets[k];
    *sums = (struct loss_sums){0};
    return 0;
}

int learner_forward_backward(struct learner *learner, struct lm_datum *datums, size_t count,
                             const struct loss *loss, const struct loss_config *config,
                             struct loss_sums *sums, struct err *err)
{
    (void)loss;
    (void)config;
    (void)err;
    learner->backwarded[learner->backward_count++] = count;
    learner->last = datums[0];
    *sums = (struct loss_sums){.loss = learner->loss, .tokens = (double)count};
    return 0;
}

int learner_step(struct learner *learner, const struct lm_adam *adam, double *norm, struct err *err)
{
    (void)adam;
    *norm = learner->norm;
    if (learner->step_result < 0)
        return err_set(err, learner->step_result, "no step");
    learner->steps++;
    return 0;
}

uint64_t learner_steps(const struct learner *learner)
{
    return learner->steps;
}

int learner_refresh(struct learner *learner, uint64_t *version, struct err *err)
{
    (void)err;
    *version = ++learner->version;
    return 0;
}

int learner_save(struct learner *learner, const char *directory, const char *name, char **where,
                 struct err *err)
{
    (void)learner;
    (void)directory;
    (void)err;
    *where = mem_strdup(name);
    return 0;
}

int learner_load(struct learner *learner, const char *directory, const char *where, bool optimizer,
                 uint64_t steps, struct err *err)
{
    (void)learner;
    (void)directory;
    (void)optimizer;
    (void)steps;
    return err_set(err, ERR_MISSING, "%s", where);
}

int learner_forget(struct learner *learner, const char *directory, const char *where,
                   struct err *err)
{
    (void)learner;
    (void)directory;
    (void)where;
    (void)err;
    return 0;
}

int learner_export(struct learner *learner, const char *directory, struct err *err)
{
    (void)learner;
    return err_set(err, ERR_UNSUPPORTED, "%s", directory);
}

#endif
