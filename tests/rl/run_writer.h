/* run_writer: a made-up training run, for test_run.c and write_run.c. What it writes depends on the
 * step alone, so that a run that was killed and one that was not can be compared. */
#pragma once

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/verdict.h"
#include "rl/run/run.h"
#include "rl/run/tensorboard.h"

#include <inttypes.h>
#include <math.h>

#define WRITER_TURNS 3      /* traces of a step */
#define WRITER_CHECKPOINT 4 /* steps between two */

static inline json_t *writer_metrics(uint64_t step)
{
    json_t *metrics = json_object();
    double part = 1 - exp(-(double)step / 10);
    json_put(metrics, "reward/mean", json_number(part));
    json_put(metrics, "reward/min", json_number(0));
    json_put(metrics, "reward/max", json_number(1 + part));
    json_put(metrics, "kernel/correct_rate", json_number(part / 2));
    json_put(metrics, "kernel/mean_speedup", json_number(1 + part));
    json_put(metrics, "optim/loss", json_number(1 - part));
    json_put(metrics, "optim/lr", json_number(1e-5));
    json_put(metrics, "mismatch/mismatch_kl", json_number(step == 2 ? NAN : 0.001 * part));
    json_put(metrics, "level/1/reward_mean", json_number(part));
    json_put(metrics, "time/rollout", json_number(1.5));
    json_put(metrics, "tokens_per_s", json_number(100 + (double)step));
    if (step % 5 == 4)
        json_put(metrics, "eval/level/1/fast_1", json_number(part / 3));
    if (step % 5 == 4) /* the 14th evaluation step is its best */
        json_put(metrics, "eval/correct_rate", json_number(step == 14 ? 0.9 : part / 2));
    return metrics;
}

static inline json_t *writer_trace(uint64_t step, int turn)
{
    json_t *trace = json_object();
    struct verdict verdict;
    verdict_init(&verdict);
    verdict.id = "the same";
    json_put(trace, "step", json_integer((json_int_t)step));
    json_put(trace, "problem", json_text("relu"));
    json_put(trace, "rollout", json_integer(0));
    json_put(trace, "turn", json_integer(turn));
    json_put(trace, "policy_version", json_integer((json_int_t)step));
    json_put(trace, "prompt", json_pack("[{s:s,s:s}]", "role", "user", "content", "Write it."));
    json_put(trace, "answer", json_text("void solution(void);"));
    json_put(trace, "verdict", turn ? verdict_json(&verdict) : json_null());
    json_put(trace, "reward", json_number(turn * 0.5));
    verdict_deinit(&verdict);
    return trace;
}

static inline int writer_step(struct run *run, uint64_t step, struct err *err)
{
    static const double rewards[] = {0, 0.5, 1, NAN};
    json_t *metrics = writer_metrics(step);
    int result = 0;
    for (int turn = 0; turn < WRITER_TURNS && result == 0; turn++) {
        json_t *trace = writer_trace(step, turn);
        result = run_trace(run, trace, err);
        json_decref(trace);
    }
    if (result == 0)
        result = run_histogram(run, step, RUN_REWARDS, rewards, 4, err);
    if (result == 0)
        result = run_text(run, step, "Best", "`a`", err);
    if (result == 0)
        result = run_metrics(run, step, metrics, err);
    json_decref(metrics);
    return result;
}

/* After `step` steps. */
static inline int writer_save(struct run *run, uint64_t step, struct err *err)
{
    char *where = mem_printf("checkpoints/step-%05" PRIu64, step);
    char *path = mem_printf("%s/%s", run_directory(run), where);
    char *file = mem_printf("%s/adapter_config.json", path);
    json_t *state = json_pack("{s:I}", "random", (json_int_t)step * 7);
    int result = file_make_directories(path, 0755, err);
    if (result == 0)
        result = file_write_atomic(file, "{}\n", 3, 0644, err);
    if (result == 0)
        result = run_checkpoint(run, where + sizeof "checkpoints/" - 1, step, where, state, err);
    json_decref(state);
    mem_free(file);
    mem_free(path);
    mem_free(where);
    return result;
}

/* Goes on from where it was, up to `steps`; 0 or an error. */
static inline int writer_run(const char *directory, const struct settings *settings, uint64_t steps,
                             void (*wait)(void), struct err *err)
{
    struct run *run;
    struct run_checkpoint checkpoint;
    bool found;
    int result = run_open(&run, directory, settings, err);
    if (result < 0)
        return result;
    result = run_resume(run, &checkpoint, &found, err);
    if (result == 0 && found &&
        json_integer_value(json_object_get(checkpoint.state, "random")) !=
            (json_int_t)checkpoint.step * 7)
        result = err_set(err, ERR_INTERNAL, "another checkpoint's state");
    for (uint64_t step = checkpoint.step; result == 0 && step < steps; step++) {
        run_status(run, "rollout", step, steps, 1, 2);
        if (wait)
            wait();
        result = writer_step(run, step, err);
        if (result == 0 && (step + 1) % WRITER_CHECKPOINT == 0)
            result = writer_save(run, step + 1, err);
    }
    if (result == 0)
        result = run_finish(run, steps, "steps", err);
    json_decref(checkpoint.state);
    run_close(run);
    return result;
}
