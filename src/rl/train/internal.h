/* internal: what the files of the trainer share.
 *
 *   trainer.c             the loop: steps, evaluations and checkpoints between them; progress
 *   trainer_open.c        checks and opens everything before the loop, and closes it after
 *   trainer_checkpoint.c  the state in a checkpoint; resuming
 *   trainer_evaluate.c    held-out problems
 *   trainer_step.c        one step of reinforcement learning
 *   trainer_collect.c     its rollouts, which may be collected ahead, and their rows
 *   trainer_carry.c       the same, out of several rounds (train.carry)
 *   trainer_lines.c       traces, histograms, metrics, sample answers
 *
 * Ownership: trainer_run owns the struct trainer. Threads: one, except trainer_on_turn; `lock`
 * protects what progress events read.
 */
#pragma once

#include "client/evaluator.h"
#include "rl/collect/collector.h"
#include "rl/collect/train_data.h"
#include "rl/run/run.h"
#include "rl/train/config.h"
#include "rl/train/finetune.h"
#include "rl/train/stage.h"
#include "rl/train/train_guard.h"
#include "rl/train/train_settings.h"
#include "rl/train/train_step.h"
#include "rl/train/trainer.h"

#include <pthread.h>

#define TRAINER_NEVER UINT64_MAX
#define TRAINER_ROUNDS_MOST (TRAIN_STALENESS_MOST + 2) /* at the same time */

/* Episodes that are collected together: the first of a step, further ones of the same step
 * (train.rounds), or an evaluation's. */
struct round {
    struct trainer *trainer;
    struct collector *collector;
    struct round *before;                /* of the same step */
    struct train_data_position position; /* where its problems begin */
    size_t number, tasks; /* of the step: rounds and problems, this round's included */
    size_t done, all;     /* turns, at most `all`; under the trainer's lock */
    size_t tasks_drawn;   /* of this round */
    bool *taken;          /* [tasks_drawn] by a step (train.carry) */
    size_t taken_count;
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
    bool fresh; /* samples come from the newest weights */

    /* Saved with a checkpoint; `mark` is the state for `step`, taken before that step began. */
    json_t *mark;
    uint64_t step; /* the next step: so many are done */
    struct train_data_position position;
    struct stages stages;
    struct train_guard guard;
    double kl;                 /* weight of the penalty */
    json_t *evaluation;        /* metrics of the evaluation before `step`; NULL: none */
    double best;               /* of train.measure; NAN: never measured */
    uint64_t best_step, worse; /* evaluations since */

    uint64_t steps;    /* all: fine-tuning, then reinforcement learning */
    uint64_t saved;    /* the step of the last checkpoint; UINT64_MAX: none */
    double saving_s;   /* since the last step's metrics */
    json_t *forgotten; /* {WHERE: true}: checkpoints that this process removed */
    /* Rounds of later steps, the oldest first; with train.carry all of which some task is left. */
    struct round *ahead[TRAINER_ROUNDS_MOST];
    size_t ahead_count;
    uint64_t launched;         /* the step of the next round that is played ahead */
    struct rl_rollout *picked; /* of the present step, out of several rounds */
    bool torn;                 /* a step changed the weights but is not complete */

    pthread_mutex_t lock; /* protects the fields below: turns end on several threads */
    const char *phase;
    const struct round *awaited; /* its turns are reported; NULL: none */
    size_t done, all;
};

/* Seconds of each part of a step. */
struct times {
    double rollout, assemble, train;
    int64_t begun_ns;
};

/* The position after the problems of this step, without those collected ahead. */
static inline struct train_data_position trainer_position(const struct trainer *trainer)
{
    return trainer->ahead_count > 0 ? trainer->ahead[0]->position : trainer->position;
}

static inline bool trainer_is_cancelled(const struct trainer *trainer)
{
    return trainer->options->cancelled && *trainer->options->cancelled;
}

/* Whether an evaluation, a checkpoint or the end is due there. */
bool trainer_pauses_at(const struct trainer *trainer, uint64_t step);

/* trainer.c */

void trainer_begin_phase(struct trainer *trainer, const char *phase, size_t all);
void trainer_report_progress(struct trainer *trainer, size_t done, const json_t *metrics);
/* Begins a phase whose progress is the round's turns, including finished ones. */
void trainer_begin_awaited(struct trainer *trainer, const char *phase, const struct round *round);
void trainer_end_awaited(struct trainer *trainer);
/* collector_options.on_turn; the context is a round. */
void trainer_on_turn(void *context, const struct rl_rollout *rollout, const struct rl_turn *turn);

/* trainer_open.c */

/* Checks that need no directory. */
NODISCARD int trainer_prepare(struct trainer *trainer, struct err *err);
NODISCARD int trainer_open_backends(struct trainer *trainer, struct err *err);
/* Says what the settings ask for and the backend does not do. Behind trainer_resume. */
NODISCARD int trainer_note_differences(const struct trainer *trainer, struct err *err);
void trainer_close(struct trainer *trainer);

/* Whether at least one problem's own reference passes. ERR_INPUT with the judge's objection to one
 * that does not. */
NODISCARD int trainer_check_problems(struct trainer *trainer, struct err *err);

/* trainer_checkpoint.c */

/* Takes the state for a checkpoint of this step, before the next one begins. */
void trainer_mark(struct trainer *trainer);
NODISCARD int trainer_save(struct trainer *trainer, struct err *err);
/* Resumes from the last checkpoint, or starts. */
NODISCARD int trainer_resume(struct trainer *trainer, struct err *err);

/* trainer_evaluate.c */

bool trainer_evaluates_at(const struct trainer *trainer, uint64_t step);
/* Evaluates on the held-out problems if that is due and not done; keeps the metrics, and reports
 * whether they are the best so far. */
NODISCARD int trainer_evaluate(struct trainer *trainer, bool *improved, struct err *err);

/* trainer_step.c */

/* Runs one step of reinforcement learning and writes its records. */
NODISCARD int trainer_step(struct trainer *trainer, struct err *err);

/* trainer_collect.c */

/* Makes samples come from the newest weights; no rollouts may be running. */
NODISCARD int trainer_refresh(struct trainer *trainer, struct err *err);
/* The sampling of a step, out of that of the first one. */
struct train_backend_sampling trainer_sampling(const struct trainer *trainer,
                                               const struct train_backend_sampling *first,
                                               uint64_t step);
/* Starts collecting as `which` says; the trainer fills in the common options. */
NODISCARD int trainer_start_collecting(struct round **out, struct trainer *trainer,
                                       const struct collector_options *which, const char *reward,
                                       struct err *err);
/* collector_wait with progress events. */
NODISCARD int trainer_await_rollouts(struct round *round, const char *phase,
                                     const struct rl_rollout **rollouts, size_t *count,
                                     struct err *err);
/* Frees a round and all rounds before it; NULL is fine. */
void trainer_free_rounds(struct round *round);
/* With train.staleness: starts collecting later steps, from the current weights. */
NODISCARD int trainer_collect_ahead(struct trainer *trainer, struct err *err);
/* Problems of later steps that are played, or over. */
size_t trainer_problems_ahead(const struct trainer *trainer);
/* Stops collecting ahead. */
void trainer_drop_ahead(struct trainer *trainer);

/* Collects the step's rows, from as many rounds as needed; *round is the last one to be freed. */
NODISCARD int trainer_collect(struct trainer *trainer, struct train_step *step,
                              struct round **round, struct err *err);

/* Adds rollouts as rows, with everything known about them; what trainer_collect does for each of
 * its rounds. */
NODISCARD int trainer_add_rollouts(struct trainer *trainer, struct train_step *step,
                                   const struct rl_rollout *rollouts, size_t count,
                                   struct err *err);
/* Starts the first round of a step, from the newest weights. */
NODISCARD int trainer_start_step(struct trainer *trainer, uint64_t step, struct round **round,
                                 struct err *err);

/* trainer_carry.c */

/* trainer_collect with train.carry: the problems whose episodes are over first. */
NODISCARD int trainer_collect_carried(struct trainer *trainer, struct train_step *step,
                                      struct round **round, struct err *err);

/* trainer_lines.c */

NODISCARD int trainer_write_traces(struct trainer *trainer, const struct train_step *step,
                                   struct err *err);
NODISCARD int trainer_write_histograms(struct trainer *trainer, const struct train_step *step,
                                       struct err *err);
/* A new reference. */
json_t *trainer_metrics(struct trainer *trainer, const struct train_step *step,
                        const struct train_step_result *trained, double rate,
                        const struct times *times);

/* Writes a few answers of the step (NULL: none) and of the evaluation before it, if due. */
NODISCARD int trainer_write_texts(struct trainer *trainer, const struct train_step *step,
                                  struct err *err);
