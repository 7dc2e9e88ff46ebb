#include "lm/train/sft.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/train/checkpoint.h"
#include "lm/train/sft_directory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const struct sft_options sft_defaults = {
    .epochs = 1,
    .step_tokens = 8192,
    .batch_tokens = 2048,
    .schedule = LM_COSINE,
    .floor = 0.1,
    .adam = {.rate = 1e-4, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = 0.01, .clip = 1},
    .checkpoint_every = 100,
    .keep = 2,
};

struct run {
    const struct sft_options *options;
    const struct dataset *data, *evaluation;
    struct lm_model *model;
    struct lm_trainer *trainer;
    struct sft_directory directory;
    struct dataset_place place;
    uint64_t step, steps;
    uint64_t tokens, targets; /* since the beginning */
    uint64_t skips;           /* in a row */
    uint64_t saved;           /* the step of the last checkpoint of this process */
    struct dataset_step taken;
    int64_t begun_ns;
};

static void sft_emit(const struct run *run, struct sft_event_info event)
{
    event.step = run->step;
    event.steps = run->steps;
    if (run->options->on_event)
        run->options->on_event(run->options->context, &event);
}

static bool cancelled(const struct run *run)
{
    return run->options->cancelled && *run->options->cancelled;
}

static int check_options(const struct sft_options *options, struct err *err)
{
    if (options->steps == 0 && options->epochs == 0)
        return err_set(err, ERR_INPUT, "neither steps nor epochs are given");
    if (options->steps > LIMIT_LM_STEPS)
        return err_set(err, ERR_LIMIT, "%" PRIu64 " steps are more than %" PRIu64, options->steps,
                       LIMIT_LM_STEPS);
    if (options->step_tokens == 0)
        return err_set(err, ERR_INPUT, "a step of 0 tokens learns nothing");
    if (options->keep == 0)
        return err_set(err, ERR_INPUT, "at least one checkpoint must be kept");
    if (!(options->floor >= 0 && options->floor <= 1))
        return err_set(err, ERR_INPUT, "the schedule's floor %g must be a part of the rate, 0 to 1",
                       options->floor);
    return 0;
}

static const char *schedule_name(enum lm_schedule schedule)
{
    return word_at(WORDS_IN(LM_SCHEDULES), schedule);
}

static json_t *describe(const struct run *run)
{
    const struct sft_options *options = run->options;
    json_t *object = options->configuration ? json_deep_copy(options->configuration)
                                            : json_object();
    const char *schedule = schedule_name(options->schedule);
    json_put(object, "data", json_text(dataset_hash(run->data)));
    json_put(object, "evaluation",
             run->evaluation ? json_text(dataset_hash(run->evaluation)) : json_null());
    json_put(object, "steps", json_integer((json_int_t)run->steps));
    json_put(object, "step_tokens", json_integer((json_int_t)options->step_tokens));
    json_put(object, "batch_tokens", json_integer((json_int_t)options->batch_tokens));
    json_put(object, "schedule", json_text(schedule));
    json_put(object, "warmup", json_integer((json_int_t)options->warmup));
    json_put(object, "floor", json_number(options->floor));
    json_put(object, "rate", json_number(options->adam.rate));
    json_put(object, "beta1", json_number(options->adam.beta1));
    json_put(object, "beta2", json_number(options->adam.beta2));
    json_put(object, "epsilon", json_number(options->adam.epsilon));
    json_put(object, "decay", json_number(options->adam.decay));
    json_put(object, "clip", json_number(options->adam.clip));
    return object;
}

static json_t *step_line(const struct run *run, const struct sft_event_info *event)
{
    json_t *line = json_object();
    json_put(line, "step", json_integer((json_int_t)run->step));
    json_put(line, "epoch",
             json_number((double)run->place.epoch +
                         (double)run->place.index / (double)dataset_count(run->data)));
    json_put(line, "loss", json_number(event->loss));
    json_put(line, "tokens", json_integer((json_int_t)event->tokens));
    json_put(line, "targets", json_integer((json_int_t)event->targets));
    json_put(line, "all_tokens", json_integer((json_int_t)run->tokens));
    json_put(line, "rate", json_number(event->rate));
    json_put(line, "norm", json_number(event->norm));
    if (event->skipped)
        json_put(line, "skipped", json_true());
    json_put(line, "tokens_per_s", json_number(round(event->tokens_per_s * 10) / 10));
    return line;
}

/* Forward, backward and the change of the weights; what is not finite is skipped. */
static int learn(struct run *run, struct sft_event_info *event, struct err *err)
{
    const struct loss *loss = loss_find("cross_entropy");
    struct lm_adam adam = run->options->adam;
    struct loss_sums sums;
    struct err why = {0};
    int result = lm_trainer_forward_backward(run->trainer, run->taken.datums, run->taken.count,
                                             loss, NULL, &sums, err);
    if (result < 0)
        return result;
    event->loss = sums.loss;
    event->rate = adam.rate = lm_schedule_rate(run->options->schedule, adam.rate,
                                               adam.rate * run->options->floor,
                                               run->options->warmup, run->steps, run->step);
    if (isfinite(sums.loss))
        result = lm_trainer_step(run->trainer, &adam, &event->norm, &why);
    event->skipped = !isfinite(sums.loss) || !isfinite(event->norm);
    if (result < 0 && !event->skipped) {
        *err = why;
        return result;
    }
    run->skips = event->skipped ? run->skips + 1 : 0;
    return 0;
}

static int take_step(struct run *run, struct err *err)
{
    struct sft_event_info event = {.event = SFT_STEPPED, .norm = NAN};
    int64_t start_ns = clock_now_ns();
    dataset_take_step(run->data, run->options->step_tokens, &run->place, &run->taken);
    event.tokens = run->taken.rows;
    event.targets = run->taken.targets;
    int result = learn(run, &event, err);
    if (result < 0)
        return err_prefix(err, "step %" PRIu64, run->step + 1);
    run->step++;
    run->tokens += event.tokens;
    run->targets += event.targets;
    event.tokens_per_s = (double)event.tokens / (clock_ms_since(start_ns) * 1e-3);
    json_t *line = step_line(run, &event);
    result = sft_directory_append(&run->directory, line, err);
    json_decref(line);
    if (result < 0)
        return result;
    sft_emit(run, event);
    if (run->skips == SFT_SKIPS_MOST)
        return err_set(err, ERR_INPUT,
                       "step %" PRIu64 ": the loss or its gradient was not finite %d times in a "
                       "row; take a lower rate or a longer warmup, in another directory",
                       run->step, SFT_SKIPS_MOST);
    return 0;
}

static int evaluate(struct run *run, struct err *err)
{
    size_t count = dataset_count(run->evaluation);
    struct sft_event_info event = {.event = SFT_EVALUATED};
    struct lm_datum *datums = mem_alloc(count * sizeof *datums);
    struct loss_sums sums;
    for (size_t i = 0; i < count; i++)
        dataset_at(run->evaluation, 0, i, &datums[i]);
    int result = lm_trainer_forward(run->trainer, datums, count, loss_find("cross_entropy"), NULL,
                                    &sums, err);
    mem_free(datums);
    if (result < 0)
        return err_prefix(err, "evaluation");
    event.evaluation_loss = sums.loss / (sums.tokens > 0 ? sums.tokens : 1);
    json_t *line = json_object();
    json_put(line, "step", json_integer((json_int_t)run->step));
    json_put(line, "evaluation_loss", json_number(event.evaluation_loss));
    json_put(line, "evaluation_targets", json_number(sums.tokens));
    result = sft_directory_append(&run->directory, line, err);
    json_decref(line);
    if (result == 0)
        sft_emit(run, event);
    return result;
}

static int save(struct run *run, struct err *err)
{
    json_t *more = json_object();
    char *path = sft_directory_checkpoint(&run->directory, run->step);
    json_put(more, "step", json_integer((json_int_t)run->step));
    json_put(more, "epoch", json_integer((json_int_t)run->place.epoch));
    json_put(more, "index", json_integer((json_int_t)run->place.index));
    json_put(more, "tokens", json_integer((json_int_t)run->tokens));
    json_put(more, "targets", json_integer((json_int_t)run->targets));
    json_put(more, "skips", json_integer((json_int_t)run->skips));
    int result = sft_directory_sync(&run->directory, err);
    if (result == 0)
        result = lm_trainer_save(run->trainer, path, more, err);
    if (result == 0) {
        sft_directory_retain(&run->directory, run->options->keep);
        run->saved = run->step;
        sft_emit(run, (struct sft_event_info){.event = SFT_SAVED, .path = path});
    }
    json_decref(more);
    mem_free(path);
    return result;
}

static int take_more(struct run *run, const char *path, const json_t *more, struct err *err)
{
    int64_t epoch, index;
    const struct {
        const char *key;
        int64_t *to;
    } rows[] = {{"step", (int64_t *)&run->step},
                {"epoch", &epoch},
                {"index", &index},
                {"tokens", (int64_t *)&run->tokens},
                {"targets", (int64_t *)&run->targets},
                {"skips", (int64_t *)&run->skips}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        int result = json_get_int(more, rows[i].key, rows[i].to, err);
        if (result == 0 && *rows[i].to < 0)
            result = err_set(err, ERR_INPUT, "%s is negative", rows[i].key);
        if (result < 0)
            return err_prefix(err, "%s/" CHECKPOINT_STATE, path);
    }
    if ((size_t)index >= dataset_count(run->data))
        return err_set(err, ERR_INPUT, "%s/" CHECKPOINT_STATE ": the data has no example %" PRId64,
                       path, index);
    run->place = (struct dataset_place){.epoch = (uint64_t)epoch, .index = (size_t)index};
    return 0;
}

static int resume(struct run *run, struct err *err)
{
    char *path = sft_directory_newest(&run->directory);
    json_t *more = NULL;
    int result = 0;
    if (path) {
        result = lm_trainer_load(run->trainer, path, true, &more, err);
        if (result == 0)
            result = take_more(run, path, more, err);
        run->saved = run->step;
    }
    if (result == 0)
        result = sft_directory_cut(&run->directory, run->step, err);
    json_decref(more);
    mem_free(path);
    return result;
}

static char *export_path(const struct run *run)
{
    return mem_printf("%s/%s", run->directory.path,
                      lm_model_trains(run->model, false) ? "model" : "adapter");
}

/* Before the first step: a run must not end at a directory that it may not replace. */
static int check_export(const struct run *run, struct err *err)
{
    char *path = export_path(run);
    struct checkpoint checkpoint;
    int result = checkpoint_begin(&checkpoint, path, err);
    if (result == 0)
        (void)!checkpoint_end(&checkpoint, ERR_CANCELLED, NULL);
    mem_free(path);
    return result;
}

static int export(struct run *run, struct err *err)
{
    char *path = export_path(run);
    int result = lm_model_export(run->model, path, run->options->sidecars, err);
    if (result == 0)
        sft_emit(run, (struct sft_event_info){.event = SFT_EXPORTED, .path = path});
    mem_free(path);
    return result;
}

static bool is_due(uint64_t every, uint64_t step)
{
    return every > 0 && step % every == 0;
}

static int train(struct run *run, struct err *err)
{
    const struct sft_options *options = run->options;
    int result = 0;
    while (run->step < run->steps && result == 0 && !cancelled(run)) {
        result = take_step(run, err);
        bool last = run->step == run->steps;
        if (result == 0 && run->evaluation && (last || is_due(options->evaluate_every, run->step)))
            result = evaluate(run, err);
        if (result == 0 && (last || is_due(options->checkpoint_every, run->step)))
            result = save(run, err);
    }
    if (result < 0 || run->step == run->steps)
        return result;
    if (run->saved != run->step)
        result = save(run, err);
    return result < 0 ? result : err_set(err, ERR_CANCELLED, "stopped at step %" PRIu64, run->step);
}

static int run_in_directory(struct run *run, struct err *err)
{
    int result = check_export(run, err);
    if (result == 0)
        result = resume(run, err);
    if (result < 0)
        return result;
    sft_emit(run, (struct sft_event_info){.event = SFT_BEGAN});
    result = train(run, err);
    return result < 0 ? result : export(run, err);
}

static size_t longest_of(const struct dataset *data, const struct dataset *evaluation)
{
    size_t longest = dataset_stats(data).longest;
    size_t other = evaluation ? dataset_stats(evaluation).longest : 0;
    return longest > other ? longest : other;
}

int sft_run(struct lm_model *model, const struct dataset *data, const struct dataset *evaluation,
            const struct sft_options *options, struct err *err)
{
    struct run run = {.options = options, .data = data, .evaluation = evaluation, .model = model};
    struct lm_trainer_options trainer = {.batch_tokens = options->batch_tokens,
                                         .recompute = options->recompute};
    int result = check_options(options, err);
    if (result < 0)
        return result;
    if (trainer.batch_tokens == 0 || trainer.batch_tokens > options->step_tokens)
        trainer.batch_tokens = options->step_tokens;
    if (trainer.batch_tokens < longest_of(data, evaluation))
        trainer.batch_tokens = longest_of(data, evaluation);
    run.steps = options->steps > 0
                    ? options->steps
                    : dataset_count_steps(data, options->step_tokens, options->epochs);
    json_t *description = describe(&run);
    result = sft_directory_open(&run.directory, options->directory, description, err);
    json_decref(description);
    if (result < 0)
        return result;
    result = lm_trainer_open(&run.trainer, model, &trainer, err);
    if (result == 0)
        result = run_in_directory(&run, err);
    lm_trainer_close(run.trainer);
    sft_directory_close(&run.directory);
    dataset_step_deinit(&run.taken);
    return result;
}
