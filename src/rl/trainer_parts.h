/* trainer_parts: what the files of the trainer share.
 *
 *   trainer.c             the loop: steps, what is due between them, the end
 *   trainer_open.c        what is checked and opened before it, and closed behind it
 *   trainer_check.c       whether any problem can be judged at all
 *   trainer_checkpoint.c  what goes with a checkpoint; going on from one
 *   trainer_evaluate.c    held-out problems
 *   trainer_step.c        one step of reinforcement learning
 *   trainer_play.c        its episodes, which may run ahead
 *   trainer_rows.c        what became of them, in several rounds
 *   trainer_lines.c       traces, histograms, metrics
 *   trainer_news.c        what people are told meanwhile
 */
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
#define TRAINER_NEVER UINT64_MAX

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

/* The plays of one step: the first is trainer->ahead[0]'s, the others are of further rounds. */
struct rounds {
    struct play *more[ROUNDS_MOST];
    size_t more_count;
    size_t tasks; /* that were drawn */
};

/* Seconds of each part of a step. */
struct times {
    double rollout, assemble, train;
    int64_t begun_ns;
};

static inline bool trainer_is_cancelled(const struct trainer *trainer)
{
    return trainer->options->cancelled && *trainer->options->cancelled;
}

/* ------------------------------------------------------------------------------ trainer_news.c */

void trainer_begin_phase(struct trainer *trainer, const char *phase, size_t all);
void trainer_tell(struct trainer *trainer, size_t done, const json_t *metrics);
/* play_options.tell: one more is done. */
void trainer_hear_turn(void *trainer, const struct play_rollout *rollout,
                       const struct play_turn *turn);

/* ----------------------------------------------------------------------------- trainer_open.c */

/* What can be wrong before there is a directory. */
NODISCARD int trainer_prepare(struct trainer *trainer, struct err *err);
NODISCARD int trainer_open_learners(struct trainer *trainer, struct err *err);
void trainer_close(struct trainer *trainer);

/* ---------------------------------------------------------------------------- trainer_check.c */

/* Whether at least one problem's own reference passes as an answer. ERR_INPUT with what the judge
 * says of one that does not. */
NODISCARD int trainer_check_problems(struct trainer *trainer, struct err *err);

/* ----------------------------------------------------------------------- trainer_checkpoint.c */

NODISCARD int trainer_save(struct trainer *trainer, struct err *err);
/* From the last checkpoint, or the beginning. */
NODISCARD int trainer_resume(struct trainer *trainer, struct err *err);

/* ------------------------------------------------------------------------- trainer_evaluate.c */

/* Plays the held-out problems, where that is due at this step and was not done; keeps the metrics,
 * and sees whether they are the best so far. */
NODISCARD int trainer_evaluate(struct trainer *trainer, bool *improved, struct err *err);

/* ----------------------------------------------------------------------------- trainer_step.c */

/* One step of reinforcement learning; its line is in the run's files afterwards. */
NODISCARD int trainer_step(struct trainer *trainer, struct err *err);

/* ----------------------------------------------------------------------------- trainer_play.c */

/* Configuration of episodes: what train.* says beside gym.*. A new reference. */
json_t *trainer_configuration(const struct trainer *trainer, const char *reward);
NODISCARD int trainer_start_play(struct trainer *trainer, uint64_t step, const json_t *tasks,
                                 size_t first_task, struct play **play, struct err *err);
/* This step's, and those that may run ahead of it. */
NODISCARD int trainer_start_ahead(struct trainer *trainer, struct err *err);
/* Ends what was played ahead; the place is before it. */
void trainer_drop_ahead(struct trainer *trainer);

/* ----------------------------------------------------------------------------- trainer_rows.c */

NODISCARD int trainer_take(struct trainer *trainer, struct step *step, struct play *play,
                           struct err *err);
NODISCARD int trainer_draw_more(struct trainer *trainer, struct step *step, struct rounds *rounds,
                                struct err *err);

/* ---------------------------------------------------------------------------- trainer_lines.c */

NODISCARD int trainer_write_traces(struct trainer *trainer, const struct step *step,
                                   struct err *err);
NODISCARD int trainer_write_histograms(struct trainer *trainer, const struct step *step,
                                       struct err *err);
/* A new reference. */
json_t *trainer_metrics(struct trainer *trainer, const struct step *step,
                        const struct step_trained *trained, double rate, const struct times *times);

#endif
