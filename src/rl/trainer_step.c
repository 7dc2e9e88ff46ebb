/* One step: episodes, played ahead or now; rows; weights; and the lines that tell of it. */
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rl/run_tags.h"
#include "rl/trainer_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static double lap_s(int64_t *since_ns)
{
    int64_t now = clock_now_ns();
    double seconds = (double)(now - *since_ns) * 1e-9;
    *since_ns = now;
    return seconds;
}

/* ------------------------------------------------------------------------------------- episodes */

static int start_play(struct trainer *trainer, uint64_t step, const json_t *tasks,
                      size_t first_task, struct play **play, struct err *err)
{
    const struct settings *settings = trainer->settings;
    json_t *configuration = trainer_configuration(trainer, stages_reward(&trainer->stages,
                                                                         settings->gym_reward));
    const struct play_options options = {
        .gym = trainer->gym,
        .learner = trainer->learner,
        .evaluator = trainer->evaluator,
        .configuration = configuration,
        .sampling = trainer->config.sampling,
        .thinking = settings->train_thinking,
        .thinking_open = settings->policy_thinking_open,
        .seed = (uint64_t)settings->train_seed,
        .step = step,
        .name = "train",
        .tasks = tasks,
        .first_task = first_task,
        .samples = (size_t)settings->train_samples,
        .jobs = (size_t)settings->train_jobs,
        .wait_ms = settings->train_wait_ms,
        .cancelled = trainer->options->cancelled,
        .tell = step == trainer->step ? trainer_hear_turn : NULL, /* the one waited for */
        .context = trainer,
    };
    int result = play_start(play, &options, err);
    json_decref(configuration);
    return result;
}

/* This step's, and those that may run ahead of it. */
static int start_ahead(struct trainer *trainer, struct err *err)
{
    uint64_t last = trainer->step + (uint64_t)trainer->settings->train_lag;
    int result = 0;
    while (result == 0) {
        uint64_t step = trainer->step + trainer->ahead_count;
        if (step > last || step >= trainer->steps)
            break;
        struct ahead *ahead = &trainer->ahead[trainer->ahead_count];
        *ahead = (struct ahead){.step = step, .before = trainer->place};
        json_t *tasks = data_draw(&trainer->data, &trainer->place,
                                  (size_t)trainer->settings->train_prompts);
        result = start_play(trainer, step, tasks, 0, &ahead->play, err);
        json_decref(tasks);
        if (result == 0)
            trainer->ahead_count++;
        else
            trainer->place = ahead->before;
    }
    return result;
}

void trainer_drop_ahead(struct trainer *trainer)
{
    if (trainer->ahead_count > 0)
        trainer->place = trainer->ahead[0].before;
    for (size_t i = 0; i < trainer->ahead_count; i++)
        play_free(trainer->ahead[i].play);
    trainer->ahead_count = 0;
}

/* ----------------------------------------------------------------------------------------- rows */

static int log_unplayed(struct trainer *trainer, const struct play_rollout *rollouts, size_t count,
                        struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (rollouts[i].trajectory)
            continue;
        json_t *facts = json_object();
        json_put(facts, "step", json_integer((json_int_t)trainer->step));
        json_put(facts, "problem", json_text(rollouts[i].problem));
        json_put(facts, "sample", json_integer((json_int_t)rollouts[i].sample));
        json_put(facts, "why", json_text(rollouts[i].why.text));
        result = run_log(trainer->run, "episode was not played", facts, err);
        json_decref(facts);
    }
    return result;
}

/* A step that no verdict says anything about is no step. */
static int check_judged(const struct trainer *trainer, const struct step *step,
                        const struct play_rollout *rollouts, size_t count, struct err *err)
{
    const json_t *record = NULL;
    for (size_t i = 0; step->rollout_count == 0 && i < count; i++)
        if (!rollouts[i].trajectory)
            return err_set(err, ERR_INPUT, "step %" PRIu64 ": no episode could be played: %s",
                           trainer->step, rollouts[i].why.text);
    for (size_t row = 0; row < step->batch.rows; row++) {
        if (!step->turns[row]->excluded)
            return 0;
        record = step->turns[row]->record;
    }
    const char *text = json_text_at(record, "verdict");
    json_t *verdict = NULL;
    struct err ignored;
    if (*text && json_parse("verdict", text, strlen(text), &verdict, &ignored) < 0)
        verdict = NULL;
    const char *why = json_text_at(json_object_get(verdict, "error"), "message");
    err_set(err, ERR_IO, "step %" PRIu64 ": no answer could be judged: %s", trainer->step,
            *why ? why : json_text_at(record, "status"));
    json_decref(verdict);
    return ERR_IO;
}

static int take(struct trainer *trainer, struct step *step, struct play *play, struct err *err)
{
    const struct play_rollout *rollouts;
    size_t count;
    int result = play_wait(play, &rollouts, &count, err);
    if (result == 0)
        result = log_unplayed(trainer, rollouts, count, err);
    if (result == 0)
        result = step_gather(step, rollouts, count, err);
    if (result == 0)
        result = check_judged(trainer, step, rollouts, count, err);
    if (result == 0)
        result = step_score(step, trainer->settings->train_rescore ? trainer->learner : NULL, err);
    if (result == 0 && trainer->base)
        result = step_score_base(step, trainer->base, err);
    if (result == 0)
        step_reject(step);
    return result;
}

static int draw_more(struct trainer *trainer, struct step *step, struct rounds *rounds,
                     struct err *err)
{
    const struct settings *settings = trainer->settings;
    const struct rl_draw draw = {.wanted = (size_t)settings->train_prompts,
                                 .most = (size_t)settings->train_prompts * 4,
                                 .rounds_most = (size_t)settings->train_rounds,
                                 .whole = settings->train_round_whole};
    int result = 0;
    while (result == 0) {
        size_t more = rl_draw_more(&draw, step->report.prompts.usable, rounds->tasks,
                                   rounds->more_count + 1);
        if (more == 0)
            break;
        struct play **play = &rounds->more[rounds->more_count];
        json_t *tasks = data_draw(&trainer->data, &trainer->place, more);
        trainer_begin_phase(trainer, "rollout",
                            more * (size_t)(settings->train_samples * settings->gym_turns));
        result = start_play(trainer, trainer->step, tasks, rounds->tasks, play, err);
        json_decref(tasks);
        if (result < 0)
            break;
        rounds->more_count++;
        rounds->tasks += more;
        result = take(trainer, step, *play, err);
    }
    return result;
}

/* ---------------------------------------------------------------------------------------- lines */

static json_t *numbers(const float *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_number((double)values[i]));
    return list;
}

static json_t *integers(const int32_t *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(values[i]));
    return list;
}

static json_t *verdict_of(const struct play_turn *turn)
{
    const char *text = json_text_at(turn->record, "verdict");
    json_t *verdict = NULL;
    struct err ignored;
    if (!*text || json_parse("verdict", text, strlen(text), &verdict, &ignored) < 0)
        return json_null();
    return verdict;
}

static json_t *trace_of(const struct trainer *trainer, const struct step *step, size_t row,
                        const struct play_rollout *rollout)
{
    const struct rl_batch *batch = &step->batch;
    const struct play_turn *turn = step->turns[row];
    json_t *trace = json_object();
    json_put(trace, "step", json_integer((json_int_t)trainer->step));
    json_put(trace, "problem", json_text(rollout->problem));
    json_put(trace, "rollout", json_integer(batch->rollout[row]));
    json_put(trace, "sample", json_integer((json_int_t)rollout->sample));
    json_put(trace, "turn", json_integer(batch->turn[row]));
    json_put(trace, "policy_version", json_integer((json_int_t)turn->answer.version));
    json_put(trace, "prompt", json_incref(json_object_get(turn->record, "prompt")));
    json_put(trace, "answer", json_incref(json_object_get(turn->record, "answer")));
    json_put(trace, "status", json_incref(json_object_get(turn->record, "status")));
    json_put(trace, "verdict", verdict_of(turn));
    json_put(trace, "reward", turn->excluded ? json_null() : json_number(turn->reward));
    json_put(trace, "return", json_number(batch->returns[row]));
    json_put(trace, "advantage", json_number(batch->advantage[row]));
    json_put(trace, "drop", json_integer(batch->drop[row]));
    json_put(trace, "speedup", json_number(turn->speedup));
    json_put(trace, "coverage", json_number(turn->coverage));
    json_put(trace, "prompt_tokens", json_integer((json_int_t)turn->prompt.count));
    json_put(trace, "answer_tokens", json_integer((json_int_t)turn->answer.count));
    if (trainer->settings->train_trace_tokens) {
        json_put(trace, "prompt_ids", integers(turn->prompt.ids, turn->prompt.count));
        json_put(trace, "answer_ids", integers(turn->answer.tokens, turn->answer.count));
        json_put(trace, "logprobs", numbers(turn->answer.logprobs, turn->answer.count));
        json_put(trace, "trained_logprobs",
                 numbers(batch->trained + batch->first[row], turn->answer.count));
    }
    return trace;
}

static int write_traces(struct trainer *trainer, const struct step *step, struct err *err)
{
    size_t row = 0;
    int result = 0;
    for (size_t i = 0; i < step->rollout_count; i++)
        for (size_t t = 0; t < step->rollouts[i]->count && result == 0; t++) {
            json_t *trace = trace_of(trainer, step, row++, step->rollouts[i]);
            result = run_trace(trainer->run, trace, err);
            json_decref(trace);
        }
    return result;
}

static int write_histograms(struct trainer *trainer, const struct step *step, struct err *err)
{
    const struct rl_batch *batch = &step->batch;
    double *values = mem_alloc((3 * batch->rows + 1) * sizeof *values);
    double *rewards = values, *speedups = values + batch->rows,
           *advantages = speedups + batch->rows;
    size_t reward_count = 0, speedup_count = 0, advantage_count = 0;
    for (size_t row = 0; row < batch->rows; row++) {
        if (!(batch->drop[row] & RL_EXCLUDED))
            rewards[reward_count++] = batch->reward[row];
        if (batch->speedup[row] > 0)
            speedups[speedup_count++] = batch->speedup[row];
        if (!(batch->drop[row] & RL_ANY))
            advantages[advantage_count++] = batch->advantage[row];
    }
    int result = run_histogram(trainer->run, trainer->step, RUN_REWARDS, rewards, reward_count,
                               err);
    if (result == 0)
        result = run_histogram(trainer->run, trainer->step, RUN_SPEEDUPS, speedups, speedup_count,
                               err);
    if (result == 0)
        result = run_histogram(trainer->run, trainer->step, RUN_ADVANTAGES, advantages,
                               advantage_count, err);
    mem_free(values);
    return result;
}

static void put(json_t *metrics, const char *name, double value)
{
    json_put(metrics, name, json_number(value));
}

/* How old the weights were that wrote the answers, in changes of the weights. */
static void put_lag(const struct trainer *trainer, const struct step *step, json_t *metrics)
{
    double sum = 0, most = 0;
    for (size_t row = 0; row < step->batch.rows; row++) {
        double lag = (double)trainer->version - (double)step->turns[row]->answer.version;
        sum += lag;
        most = fmax(most, lag);
    }
    put(metrics, "lag/mean", step->batch.rows > 0 ? sum / (double)step->batch.rows : 0);
    put(metrics, "lag/max", most);
}

static void put_times(const struct step *step, const struct times *times, json_t *metrics)
{
    double answer_ms = 0, judge_ms = 0;
    for (size_t row = 0; row < step->batch.rows; row++) {
        const json_t *record = step->turns[row]->record;
        answer_ms += fmax(json_number_value(json_object_get(record, "answer_ms")), 0);
        judge_ms += fmax(json_number_value(json_object_get(record, "judge_ms")), 0);
    }
    put(metrics, "time/rollout", times->rollout);
    put(metrics, "time/answers_sum", answer_ms * 1e-3);
    put(metrics, "time/verdicts_sum", judge_ms * 1e-3);
    put(metrics, "time/assemble_data", times->assemble);
    put(metrics, "time/train", times->train);
    put(metrics, "time/total", (double)(clock_now_ns() - times->begun_ns) * 1e-9);
}

static json_t *metrics_of(struct trainer *trainer, const struct step *step,
                          const struct step_trained *trained, double rate,
                          const struct times *times)
{
    json_t *metrics = trainer->evaluation ? json_copy(trainer->evaluation) : json_object();
    step_measure(step, metrics);
    put(metrics, "progress/done_frac", (double)(trainer->step + 1) / (double)trainer->steps);
    put(metrics, "progress/epoch", (double)trainer->place.epoch);
    put(metrics, "optim/lr", rate);
    put(metrics, "optim/changes", (double)trained->changes);
    put(metrics, "optim/not_finite", trained->not_finite);
    if (step->datum_count > 0) {
        double tokens = trained->sums.tokens > 0 ? trained->sums.tokens : 1;
        put(metrics, "optim/loss", trained->sums.loss);
        put(metrics, "optim/grad_norm", trained->norm);
        put(metrics, "optim/tokens", trained->sums.tokens);
        put(metrics, "optim/clipped_fraction", trained->sums.clipped / tokens);
        put(metrics, "optim/ratio", trained->sums.ratio / tokens);
        put(metrics, "optim/kl", trained->sums.kl / tokens);
    }
    if (trainer->stages.count > 0)
        put(metrics, "progress/stage", (double)trainer->stages.at + 1);
    put_lag(trainer, step, metrics);
    put_times(step, times, metrics);
    put(metrics, "time/save_checkpoint", trainer->saving_s);
    trainer->saving_s = 0;
    return metrics;
}

/* ------------------------------------------------------------------------------------- the step */

static void see_rates(struct trainer *trainer, const struct step *step)
{
    double counts[STAGE_MEASURES] = {0}, rates[STAGE_MEASURES], turns = 0;
    for (size_t row = 0; row < step->batch.rows; row++) {
        const struct play_turn *turn = step->turns[row];
        if (turn->excluded)
            continue;
        turns++;
        counts[STAGE_FORMATTED] += turn->format_ok;
        counts[STAGE_COMPILED] += turn->compiled;
        counts[STAGE_CORRECT] += turn->correct;
        counts[STAGE_FAST] += turn->correct && turn->speedup >= 1;
    }
    for (size_t i = 0; i < STAGE_MEASURES; i++)
        rates[i] = turns > 0 ? counts[i] / turns : NAN;
    if (stages_see(&trainer->stages, rates)) {
        json_t *facts = json_object();
        struct err ignored;
        json_put(facts, "step", json_integer((json_int_t)trainer->step));
        json_put(facts, "reward",
                 json_text(stages_reward(&trainer->stages, trainer->settings->gym_reward)));
        (void)!run_log(trainer->run, "stage", facts, &ignored);
        json_decref(facts);
    }
}

static int train(struct trainer *trainer, struct step *step, const struct lm_adam *adam,
                 struct step_trained *trained, struct err *err)
{
    trainer_begin_phase(trainer, "train", step->datum_count);
    trainer->torn = !trainer_is_cancelled(trainer);
    int result = step_train(step, trainer->learner, adam, trainer->options->cancelled, trained,
                            err);
    const struct guard_figures figures = {.not_finite = trained->not_finite,
                                          .norm = trained->norm,
                                          .kl = step->report.mismatch.mismatch_k3_kl};
    if (result == 0)
        result = guard_see(&trainer->guard, trainer->settings, trainer->step, &figures, err);
    return result;
}

/* Everything but playing, and the lines. */
static int learn(struct trainer *trainer, struct step *step, struct times *times, struct err *err)
{
    const struct settings *settings = trainer->settings;
    struct lm_adam adam = trainer->config.adam;
    struct step_trained trained;
    int64_t lap_ns = clock_now_ns();
    int result = step_weigh(step, settings->train_rounds > 1 ? (size_t)settings->train_prompts : 0,
                            err);
    if (result < 0)
        return result;
    times->assemble += lap_s(&lap_ns);
    adam.rate = lm_schedule_rate(trainer->config.schedule, adam.rate,
                                 adam.rate * settings->train_floor,
                                 (uint64_t)settings->train_warmup, (uint64_t)settings->train_steps,
                                 trainer->step - trainer->finetune.steps);
    result = train(trainer, step, &adam, &trained, err);
    if (result < 0)
        return result;
    times->train = lap_s(&lap_ns);
    json_t *metrics = metrics_of(trainer, step, &trained, adam.rate, times);
    result = learner_refresh(trainer->learner, &trainer->version, err);
    if (result == 0)
        result = write_traces(trainer, step, err);
    if (result == 0)
        result = write_histograms(trainer, step, err);
    if (result == 0)
        result = run_metrics(trainer->run, trainer->step, metrics, err);
    if (result == 0)
        trainer_tell(trainer, step->datum_count, metrics);
    json_decref(metrics);
    return result;
}

static int run_step(struct trainer *trainer, struct step *step, struct rounds *rounds,
                    struct err *err)
{
    struct times times = {.begun_ns = clock_now_ns()};
    int64_t lap_ns = times.begun_ns;
    size_t turns = (size_t)(trainer->settings->train_prompts * trainer->settings->train_samples *
                            trainer->settings->gym_turns);
    trainer_begin_phase(trainer, "rollout", turns);
    int result = start_ahead(trainer, err);
    if (result == 0)
        result = take(trainer, step, trainer->ahead[0].play, err);
    if (result == 0)
        result = draw_more(trainer, step, rounds, err);
    times.rollout = lap_s(&lap_ns);
    if (result == 0)
        result = learn(trainer, step, &times, err);
    return result;
}

int trainer_step(struct trainer *trainer, struct err *err)
{
    const struct settings *settings = trainer->settings;
    const struct step_options options = {
        .method = &trainer->config.method,
        .loss = trainer->config.loss,
        .config = trainer->config.loss_config,
        .ratio_trained = trainer->config.ratio_trained,
        .kl = settings->train_kl,
        .kl_discount = settings->train_kl_discount,
        .samples = (size_t)settings->train_samples,
        .substeps = (size_t)settings->train_substeps,
        .seed = (uint64_t)settings->train_seed,
        .step = trainer->step,
    };
    struct rounds *rounds = mem_alloc(sizeof *rounds);
    struct step step;
    rounds->tasks = (size_t)settings->train_prompts;
    step_init(&step, &options);
    int result = run_step(trainer, &step, rounds, err);
    if (result == 0) {
        see_rates(trainer, &step);
        play_free(trainer->ahead[0].play);
        trainer->ahead_count--;
        memmove(trainer->ahead, trainer->ahead + 1, trainer->ahead_count * sizeof *trainer->ahead);
        trainer->step++;
        trainer->torn = false;
    }
    step_deinit(&step);
    for (size_t i = 0; i < rounds->more_count; i++)
        play_free(rounds->more[i]);
    mem_free(rounds);
    return result;
}
