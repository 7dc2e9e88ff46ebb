/* The records of a step: traces, histograms, metrics. */
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "rl/collect/evaluation.h"
#include "rl/run/tensorboard.h"
#include "rl/train/internal.h"
#include "rl/train/sample_text.h"
#include "rl/train/train_settings.h"

#include <math.h>

static json_t *make_trace(const struct trainer *trainer, const struct train_step *step, size_t row,
                          const struct rl_rollout *rollout)
{
    const struct rl_batch *batch = &step->batch;
    const struct rl_turn *turn = step->turns[row];
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
    json_put(trace, "verdict", json_incref(json_object_get(turn->record, "verdict")));
    json_put(trace, "reward", turn->excluded ? json_null() : json_number(turn->reward));
    if (json_object_get(turn->record, "reward_parts"))
        json_put(trace, "reward_parts", json_incref(json_object_get(turn->record, "reward_parts")));
    json_put(trace, "return", json_number(batch->returns[row]));
    json_put(trace, "advantage", json_number(batch->advantage[row]));
    json_put(trace, "drop", json_integer(batch->drop[row]));
    json_put(trace, "speedup", json_number(turn->speedup));
    json_put(trace, "coverage", json_number(turn->coverage));
    json_put(trace, "prompt_tokens", json_integer((json_int_t)turn->prompt.count));
    json_put(trace, "answer_tokens", json_integer((json_int_t)turn->answer.count));
    if (train_settings(trainer->settings)->trace_tokens) {
        json_put(trace, "prompt_ids", json_integers(turn->prompt.ids, turn->prompt.count));
        json_put(trace, "answer_ids", json_integers(turn->answer.tokens, turn->answer.count));
        json_put(trace, "logprobs", json_numbers(turn->answer.logprobs, turn->answer.count));
        json_put(trace, "trained_logprobs",
                 json_numbers(batch->trained + batch->first[row], turn->answer.count));
    }
    return trace;
}

int trainer_write_traces(struct trainer *trainer, const struct train_step *step, struct err *err)
{
    size_t row = 0;
    int result = 0;
    for (size_t i = 0; i < step->rollout_count; i++)
        for (size_t t = 0; t < step->rollouts[i]->count && result == 0; t++) {
            json_t *trace = make_trace(trainer, step, row++, step->rollouts[i]);
            result = run_trace(trainer->run, trace, err);
            json_decref(trace);
        }
    return result;
}

int trainer_write_histograms(struct trainer *trainer, const struct train_step *step,
                             struct err *err)
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

static void put_metric(json_t *metrics, const char *name, double value)
{
    json_put(metrics, name, json_number(value));
}

/* The age of the weights that wrote the answers, in updates until the step began. */
static void put_lag(const struct trainer *trainer, const struct train_step *step, size_t changes,
                    json_t *metrics)
{
    double begun = (double)train_backend_steps(trainer->backend) - (double)changes, sum = 0,
           most = 0;
    for (size_t row = 0; row < step->batch.rows; row++) {
        double lag = begun - (double)step->turns[row]->answer.version;
        sum += lag;
        most = fmax(most, lag);
    }
    put_metric(metrics, "lag/mean", step->batch.rows > 0 ? sum / (double)step->batch.rows : 0);
    put_metric(metrics, "lag/max", most);
}

static void put_times(const struct train_step *step, const struct times *times, json_t *metrics)
{
    double answer_ms = 0, judge_ms = 0;
    for (size_t row = 0; row < step->batch.rows; row++) {
        const json_t *record = step->turns[row]->record;
        answer_ms += fmax(json_number_value(json_object_get(record, "answer_ms")), 0);
        judge_ms += fmax(json_number_value(json_object_get(record, "judge_ms")), 0);
    }
    put_metric(metrics, "time/rollout", times->rollout);
    put_metric(metrics, "time/answers_sum", answer_ms * 1e-3);
    put_metric(metrics, "time/verdicts_sum", judge_ms * 1e-3);
    put_metric(metrics, "time/assemble_data", times->assemble);
    put_metric(metrics, "time/train", times->train);
    put_metric(metrics, "time/total", (double)(clock_now_ns() - times->begun_ns) * 1e-9);
}

json_t *trainer_metrics(struct trainer *trainer, const struct train_step *step,
                        const struct train_step_result *trained, double rate,
                        const struct times *times)
{
    json_t *metrics = trainer->evaluation ? json_copy(trainer->evaluation) : json_object();
    train_step_measure(step, metrics);
    put_metric(metrics, "progress/done_frac", (double)(trainer->step + 1) / (double)trainer->steps);
    put_metric(metrics, "progress/epoch", (double)trainer_position(trainer).epoch);
    put_metric(metrics, "optim/lr", rate);
    put_metric(metrics, "optim/changes", (double)trained->changes);
    put_metric(metrics, "optim/not_finite", trained->not_finite);
    if (step->datum_count > 0) {
        double tokens = trained->sums.tokens > 0 ? trained->sums.tokens : 1;
        put_metric(metrics, "optim/loss", trained->sums.loss);
        put_metric(metrics, "optim/grad_norm", trained->norm);
        put_metric(metrics, "optim/tokens", trained->sums.tokens);
        put_metric(metrics, "optim/clipped_fraction", trained->sums.clipped / tokens);
        put_metric(metrics, "optim/ratio", trained->sums.ratio / tokens);
        put_metric(metrics, "optim/kl", trained->sums.kl / tokens);
    }
    if (trainer->stages.count > 0)
        put_metric(metrics, "progress/stage", (double)trainer->stages.at + 1);
    put_lag(trainer, step, trained->changes, metrics);
    put_times(step, times, metrics);
    put_metric(metrics, "time/save_checkpoint", trainer->saving_s);
    trainer->saving_s = 0;
    return metrics;
}

static int write_text(struct trainer *trainer, const char *tag, const struct sample_text *samples,
                      struct err *err)
{
    return samples->count == 0
               ? 0
               : run_text(trainer->run, trainer->step, tag, samples->text.data, err);
}

/* Reads the file: another process may have run the evaluation before this step. */
static int write_held_out(struct trainer *trainer, struct err *err)
{
    struct sample_text samples;
    char *path = evaluation_path(run_directory(trainer->run), trainer->step);
    sample_text_init(&samples);
    int result = sample_text_add_file(&samples, path, err);
    if (result == 0)
        result = write_text(trainer, RUN_HELD_OUT, &samples, err);
    sample_text_deinit(&samples);
    mem_free(path);
    return result;
}

static int write_trained(struct trainer *trainer, const struct train_step *step, struct err *err)
{
    struct sample_text samples;
    sample_text_init(&samples);
    for (size_t i = 0; i < step->rollout_count; i++)
        sample_text_add(&samples, step->rollouts[i]->trajectory);
    int result = write_text(trainer, RUN_ANSWERS, &samples, err);
    sample_text_deinit(&samples);
    return result;
}

int trainer_write_texts(struct trainer *trainer, const struct train_step *step, struct err *err)
{
    uint64_t every = (uint64_t)train_settings(trainer->settings)->text_every;
    int result = 0;
    if (every == 0)
        return 0;
    if (trainer->evaluation)
        result = write_held_out(trainer, err);
    if (result == 0 && step && (trainer->step - trainer->finetune.steps) % every == 0)
        result = write_trained(trainer, step, err);
    return result;
}
