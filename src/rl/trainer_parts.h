/* trainer_parts: what trainer.c, trainer_step.c and trainer_evaluate.c share. */
#ifndef WARPGYM_RL_TRAINER_PARTS_H
#define WARPGYM_RL_TRAINER_PARTS_H

#include "client/evaluator.h"
#include "rl/data.h"
#include "rl/finetune.h"
#include "rl/guard.h"
#include "rl/play.h"
#include "rl/run.h"
#include "rl/stage.h"
#include "rl/step.h"
#include "rl/train_config.h"
#include "rl/trainer.h"

#include <pthread.h>

#define LAG_MOST 16
#define ROUNDS_MOST 1000

/* A step whose episodes are under way. */
struct ahead {
    struct play *play;
    uint64_t step;
    struct data_place before; /* where its problems begin */
};

struct trainer {
    const struct trainer_options *options;
    const struct settings *settings;
    struct train_config config;
    struct gym *gym;
    struct learner *learner, *base; /* base NULL: no penalty */
    struct evaluator *evaluator;
    struct run *run;
    struct data data;
    struct finetune finetune;
    uint64_t version; /* of the weights that sample */

    /* What goes with a checkpoint. */
    uint64_t step; /* that is next: so many are done */
    struct data_place place;
    struct stages stages;
    struct guard guard;
    json_t *evaluation;        /* metrics of the one before `step`; NULL: there was none */
    double best;               /* of train.measure; NAN: never measured */
    uint64_t best_step, worse; /* evaluations since */

    uint64_t steps;    /* all: of fine-tuning, then of reinforcement */
    uint64_t saved;    /* the step of the last checkpoint; UINT64_MAX: there is none */
    double saving_s;   /* since the last step's line */
    json_t *forgotten; /* {WHERE: true}: checkpoints that this process has removed */
    struct ahead ahead[LAG_MOST + 1]; /* the first is the one that is trained next */
    size_t ahead_count;
    bool torn; /* the weights are between two steps */

    pthread_mutex_t lock; /* of the rest: news come from several threads */
    const char *phase;
    uint64_t phase_step; /* that the episodes belong to */
    size_t done, all;
};

static inline bool trainer_is_cancelled(const struct trainer *trainer)
{
    return trainer->options->cancelled && *trainer->options->cancelled;
}

void trainer_begin_phase(struct trainer *trainer, const char *phase, size_t all);
void trainer_tell(struct trainer *trainer, size_t done, const json_t *metrics);
/* play_options.tell, with the trainer as its context: one more is done. */
void trainer_hear_turn(void *context, const struct play_rollout *rollout,
                       const struct play_turn *turn);

/* Configuration of episodes: what train.* says beside gym.*. A new reference. */
json_t *trainer_configuration(const struct trainer *trainer, const char *reward);

/* One step of reinforcement learning; its line is in the run's files afterwards. */
NODISCARD int trainer_step(struct trainer *trainer, struct err *err);
/* Ends what was played ahead; the place is before it. */
void trainer_drop_ahead(struct trainer *trainer);

/* Plays the held-out problems, where that is due at this step and was not done; keeps the metrics,
 * and sees whether they are the best so far. */
NODISCARD int trainer_evaluate(struct trainer *trainer, bool *improved, struct err *err);

/* Whether at least one problem's own reference passes as an answer. ERR_INPUT with what the judge
 * says of one that does not. */
NODISCARD int trainer_check_problems(struct trainer *trainer, struct err *err);

#endif
