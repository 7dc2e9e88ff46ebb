/* The state in a checkpoint, which checkpoints are kept, and resuming from the last one. */
#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "rl/run/checkpoints.h"
#include "rl/train/internal.h"
#include "rl/train/train_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *position_json(uint64_t epoch, size_t index)
{
    return json_pack("{s:I, s:I}", "epoch", (json_int_t)epoch, "index", (json_int_t)index);
}

/* Everything that the next step depends on, besides weights and optimiser: every random number
 * depends on (seed, step, …). */
static json_t *trainer_state(const struct trainer *trainer)
{
    struct train_data_position position = trainer_position(trainer);
    json_t *state = json_object();
    json_put(state, "problems", json_string(trainer->data.digest));
    json_put(state, "data", position_json(position.epoch, position.index));
    json_put(state, "sft",
             position_json(trainer->finetune.position.epoch, trainer->finetune.position.index));
    json_put(state, "changes", json_integer((json_int_t)train_backend_steps(trainer->backend)));
    json_put(state, "stage", stages_state(&trainer->stages));
    json_put(state, "seen", problem_records_state(&trainer->data.records));
    json_put(state, "skips", json_integer((json_int_t)trainer->guard.skips));
    json_put(state, "kl", json_number(trainer->kl));
    json_put(state, "best", json_number(trainer->best));
    json_put(state, "best_step", json_integer((json_int_t)trainer->best_step));
    json_put(state, "worse", json_integer((json_int_t)trainer->worse));
    json_put(state, "evaluation",
             trainer->evaluation ? json_incref(trainer->evaluation) : json_null());
    return state;
}

void trainer_mark(struct trainer *trainer)
{
    json_decref(trainer->mark);
    trainer->mark = trainer_state(trainer);
}

static int read_position(const json_t *state, const char *key, uint64_t *epoch, size_t *index,
                         struct err *err)
{
    json_t *position;
    int64_t found[2] = {0, 0};
    int result = json_get_object(state, key, &position, err);
    if (result == 0)
        result = json_get_int(position, "epoch", &found[0], err);
    if (result == 0)
        result = json_get_int(position, "index", &found[1], err);
    if (result == 0 && (found[0] < 0 || found[1] < 0))
        result = err_set(err, ERR_INPUT, "%s: a position is negative", key);
    if (result < 0)
        return result;
    *epoch = (uint64_t)found[0];
    *index = (size_t)found[1];
    return 0;
}

static int read_counts(struct trainer *trainer, const json_t *state, struct err *err)
{
    const struct {
        const char *key;
        uint64_t *to;
    } rows[] = {{"skips", &trainer->guard.skips},
                {"best_step", &trainer->best_step},
                {"worse", &trainer->worse}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t value;
        int result = json_get_int(state, rows[i].key, &value, err);
        if (result == 0 && value < 0)
            result = err_set(err, ERR_INPUT, "%s is negative", rows[i].key);
        if (result < 0)
            return result;
        *rows[i].to = (uint64_t)value;
    }
    int result = json_find_double(state, "kl", &trainer->kl, err);
    return result < 0 ? result : json_find_double(state, "best", &trainer->best, err);
}

/* With other problems neither the order nor the best evaluation is valid. */
static int check_problems(const struct trainer *trainer, const json_t *state, struct err *err)
{
    const char *was = json_text_at(state, "problems");
    if (!*was || strcmp(was, trainer->data.digest) == 0) /* older states have none */
        return 0;
    return err_set(err, ERR_INPUT,
                   "train.problems or train.held_out name other problems now, or other contents of "
                   "the same names: resume with the problems that the run started with");
}

static int read_state(struct trainer *trainer, const json_t *state, struct err *err)
{
    json_t *stage, *evaluation = NULL;
    int result = check_problems(trainer, state, err);
    if (result == 0)
        result = read_position(state, "data", &trainer->position.epoch, &trainer->position.index,
                               err);
    if (result == 0)
        result = read_position(state, "sft", &trainer->finetune.position.epoch,
                               &trainer->finetune.position.index, err);
    if (result == 0 && trainer->finetune.data &&
        trainer->finetune.position.index >= dataset_count(trainer->finetune.data))
        result = err_set(err, ERR_INPUT, "train.sft_data has different examples now");
    if (result == 0)
        result = json_get_object(state, "stage", &stage, err);
    if (result == 0)
        result = stages_restore(&trainer->stages, stage, err);
    if (result == 0)
        result = read_counts(trainer, state, err);
    if (result == 0)
        result = problem_records_restore(&trainer->data.records, json_object_get(state, "seen"),
                                         err);
    if (result == 0)
        result = json_find_object(state, "evaluation", &evaluation, err);
    if (result == 0 && evaluation)
        trainer->evaluation = json_deep_copy(evaluation);
    return result;
}

/* A checkpoint that a service does not delete is no reason to end. */
static int remove_checkpoint(struct trainer *trainer, const json_t *line, struct err *err)
{
    const char *where = json_text_at(line, "where");
    struct err why;
    if (json_object_get(trainer->forgotten, where))
        return 0;
    json_put(trainer->forgotten, where, json_true());
    int code = train_backend_forget(trainer->backend, run_directory(trainer->run), where, &why);
    if (code == 0)
        return run_checkpoint_removed(trainer->run, line, err);
    if (code == ERR_CANCELLED)
        return 0;
    return run_log(trainer->run, "checkpoint was not removed",
                   json_pack("{s:o, s:o}", "where", json_text(where), "why", json_text(why.text)),
                   err);
}

/* Removes all but the last train.keep and the best. A missing one is no error. */
static int remove_old_checkpoints(struct trainer *trainer, struct err *err)
{
    json_t *all, *line;
    size_t i, count;
    int result = run_checkpoints(run_directory(trainer->run), &all, err);
    if (result < 0)
        return result;
    count = json_array_size(all);
    json_array_foreach(all, i, line)
    {
        bool best = !isnan(trainer->best) &&
                    (uint64_t)json_integer_value(json_object_get(line, "step")) ==
                        trainer->best_step;
        if (result == 0 && !best && i + (size_t)train_settings(trainer->settings)->keep < count)
            result = remove_checkpoint(trainer, line, err);
    }
    json_decref(all);
    return result;
}

int trainer_save(struct trainer *trainer, struct err *err)
{
    char name[RUN_NAME_BYTES], *where = NULL;
    int64_t begun_ns = clock_now_ns();
    snprintf(name, sizeof name, "step-%06" PRIu64, trainer->step);
    trainer_begin_phase(trainer, "checkpoint", 0);
    int result = train_backend_save(trainer->backend, run_directory(trainer->run), name, &where,
                                    err);
    if (result == 0)
        result = run_checkpoint(trainer->run, name, trainer->step, where, trainer->mark, err);
    if (result == 0) {
        trainer->saved = trainer->step;
        result = remove_old_checkpoints(trainer, err);
    }
    trainer->saving_s += clock_ms_since(begun_ns) * 1e-3;
    mem_free(where);
    return result;
}

int trainer_resume(struct trainer *trainer, struct err *err)
{
    struct run_checkpoint checkpoint;
    bool found;
    int result = run_resume(trainer->run, &checkpoint, &found, err);
    if (result < 0)
        return result;
    if (found) {
        const json_t *changes = json_object_get(checkpoint.state, "changes");
        result = train_backend_load(trainer->backend, run_directory(trainer->run), checkpoint.where,
                                    true, (uint64_t)json_integer_value(changes), err);
        if (result == 0)
            result = read_state(trainer, checkpoint.state, err);
        if (result < 0)
            err_prefix(err, "checkpoint %s", checkpoint.name);
        trainer->step = trainer->saved = checkpoint.step;
    } else {
        result = trainer_check_problems(trainer, err);
    }
    json_decref(checkpoint.state);
    if (result == 0)
        trainer_mark(trainer);
    return result;
}
