/* trainer_parts: what the files of the trainer share.
 *
 *   trainer.c             the loop: steps, what is due between them, the end
 *   trainer_open.c        what is checked and opened before it, and closed behind it
 *   trainer_check.c       whether any problem can be judged at all
 *   trainer_checkpoint.c  what goes with a checkpoint; going on from one
 *   trainer_evaluate.c    held-out problems
 *   trainer_step.c        one step of reinforcement learning
 *   trainer_collect.c        its episodes, which may run ahead
 *   trainer_rows.c        what became of them, in several rounds
 *   trainer_lines.c       traces, histograms, metrics
 *   trainer_texts.c       answers that people can read
 *   trainer_progress.c        what people are told meanwhile
 */
#ifndef WARPGYM_RL_TRAIN_INTERNAL_H
#define WARPGYM_RL_TRAIN_INTERNAL_H

#include "client/evaluator.h"
#include "rl/collect/collector.h"
#include "rl/collect/train_data.h"
#include "rl/run/run.h"
#include "rl/train/config.h"
#include "rl/train/finetune.h"
#include "rl/train/stage.h"
#include "rl/train/train_guard.h"
#include "rl/train/train_step.h"
#include "rl/train/trainer.h"

#include <pthread.h>

#define TRAINER_NEVER UINT64_MAX

/* Episodes that are played together: the first of a step, or more of the same one (train.rounds),
 * or an evaluation's. */
struct round {
    struct trainer *trainer;
    struct collector *play;
    struct round *before;             /* of the same step */
    struct train_data_position place; /* where its problems begin */
    size_t number, tasks;             /* of the step: rounds and problems, this one's included */
    size_t done, all;                 /* turns, `all` at most; the trainer's lock */
};

struct trainer {
    const struct trainer_options *options;
    const struct settings *settings;
    struct train_config config;
    struct gym *gym;
    struct train_backend *backend, *base; /* base NULL: no penalty */
    struct evaluator *evaluator;
    struct run *run;
    struct train_data data;
    struct finetune finetune;
    bool fresh; /* samples are of the newest weights */

    /* What goes with a checkpoint; `mark` is what went with one of `step`, before that began. */
    json_t *mark;
    uint64_t step; /* that is next: so many are done */
    struct train_data_position place;
    struct stages stages;
    struct train_guard guard;
    json_t *evaluation;        /* metrics of the one before `step`; NULL: there was none */
    double best;               /* of train.measure; NAN: never measured */
    uint64_t best_step, worse; /* evaluations since */

    uint64_t steps;      /* all: of fine-tuning, then of reinforcement */
    uint64_t saved;      /* the step of the last checkpoint; UINT64_MAX: there is none */
    double saving_s;     /* since the last step's line */
    json_t *forgotten;   /* {WHERE: true}: checkpoints that this process has removed */
    struct round *ahead; /* of the next step, while one is trained; NULL: none */
    bool torn;           /* the weights are between two steps */

    pthread_mutex_t lock; /* of the rest: news come from several threads */
    const char *phase;
    const struct round *awaited; /* whose turns are news; NULL: nobody's */
    size_t done, all;
};

/* Seconds of each part of a step. */
struct times {
    double rollout, assemble, train;
    int64_t begun_ns;
};

/* Behind the problems of this step; what is played ahead has drawn more. */
static inline struct train_data_position trainer_position(const struct trainer *trainer)
{
    return trainer->ahead ? trainer->ahead->place : trainer->place;
}

static inline bool trainer_is_cancelled(const struct trainer *trainer)
{
    return trainer->options->cancelled && *trainer->options->cancelled;
}

/* Whether something is done between the steps there: an evaluation, a checkpoint, the end. */
bool trainer_pauses_at(const struct trainer *trainer, uint64_t step);

/* ------------------------------------------------------------------------------ trainer_progress.c */

void trainer_begin_phase(struct trainer *trainer, const char *phase, size_t all);
void trainer_report_progress(struct trainer *trainer, size_t done, const json_t *metrics);
/* A phase whose news are the round's turns, those that are over included. */
void trainer_begin_awaited(struct trainer *trainer, const char *phase, const struct round *round);
void trainer_end_awaited(struct trainer *trainer);
/* collector_options.tell; the context is a round. */
void trainer_on_turn(void *context, const struct rl_rollout *rollout, const struct rl_turn *turn);

/* ------------------------------------------------------------------------------ trainer_open.c */

/* What can be wrong before there is a directory. */
NODISCARD int trainer_prepare(struct trainer *trainer, struct err *err);
NODISCARD int trainer_open_backends(struct trainer *trainer, struct err *err);
void trainer_close(struct trainer *trainer);

/* ----------------------------------------------------------------------------- trainer_check.c */

/* Whether at least one problem's own reference passes as an answer. ERR_INPUT with what the judge
 * says of one that does not. */
NODISCARD int trainer_check_problems(struct trainer *trainer, struct err *err);

/* ------------------------------------------------------------------------ trainer_checkpoint.c */

/* Between two steps: what a checkpoint of this one is made with, whatever is begun after it. */
void trainer_mark(struct trainer *trainer);
NODISCARD int trainer_save(struct trainer *trainer, struct err *err);
/* From the last checkpoint, or the beginning. */
NODISCARD int trainer_resume(struct trainer *trainer, struct err *err);

/* -------------------------------------------------------------------------- trainer_evaluate.c */

bool trainer_evaluates_at(const struct trainer *trainer, uint64_t step);
/* Plays the held-out problems, where that is due at this step and was not done; keeps the metrics,
 * and sees whether they are the best so far. */
NODISCARD int trainer_evaluate(struct trainer *trainer, bool *improved, struct err *err);

/* ------------------------------------------------------------------------------ trainer_step.c */

/* One step of reinforcement learning; its line is in the run's files afterwards. */
NODISCARD int trainer_step(struct trainer *trainer, struct err *err);

/* ------------------------------------------------------------------------------ trainer_collect.c */

/* Samples are of the newest weights afterwards; nothing is played meanwhile. */
NODISCARD int trainer_refresh(struct trainer *trainer, struct err *err);
/* Episodes as `which` has them; what it leaves out is the same for all. */
NODISCARD int trainer_start_collecting(struct round **out, struct trainer *trainer,
                                       const struct collector_options *which, const char *reward,
                                       struct err *err);
/* collector_wait, and news. */
NODISCARD int trainer_await_rollouts(struct round *round, const char *phase,
                                     const struct rl_rollout **rollouts, size_t *count,
                                     struct err *err);
/* With all rounds before it; NULL is fine. */
void trainer_free_rounds(struct round *round);
/* More problems of a step, behind *round (NULL: its first), which becomes the new one. */
NODISCARD int trainer_start_round(struct trainer *trainer, uint64_t step, size_t problems,
                                  struct round **round, struct err *err);
/* The first round of a step, from the newest weights. */
NODISCARD int trainer_start_step(struct trainer *trainer, uint64_t step, struct round **round,
                                 struct err *err);
/* Where train.lag says so: the next step begins to be played, from the weights of this one. */
NODISCARD int trainer_collect_ahead(struct trainer *trainer, struct err *err);
/* Ends what is played ahead. */
void trainer_drop_ahead(struct trainer *trainer);

/* ------------------------------------------------------------------------------ trainer_rows.c */

/* The step's rows, from as many rounds as it takes; *round is the last one. */
NODISCARD int trainer_collect(struct trainer *trainer, struct train_step *step,
                              struct round **round, struct err *err);

/* ----------------------------------------------------------------------------- trainer_lines.c */

NODISCARD int trainer_write_traces(struct trainer *trainer, const struct train_step *step,
                                   struct err *err);
NODISCARD int trainer_write_histograms(struct trainer *trainer, const struct train_step *step,
                                       struct err *err);
/* A new reference. */
json_t *trainer_metrics(struct trainer *trainer, const struct train_step *step,
                        const struct train_step_result *trained, double rate,
                        const struct times *times);

/* ---------------------------------------------------------------------------- trainer_texts.c */

/* A few answers of the step (NULL: none) and of the evaluation before it, where they are due. */
NODISCARD int trainer_write_texts(struct trainer *trainer, const struct train_step *step,
                                  struct err *err);

#endif
