/* Texts for TensorBoard: a few answers of training and of evaluations. */
#include "base/mem.h"
#include "rl/collect/evaluation.h"
#include "rl/run/tensorboard.h"
#include "rl/train/internal.h"
#include "rl/train/sample_text.h"

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
    uint64_t every = (uint64_t)trainer->settings->train_text_every;
    int result = 0;
    if (every == 0)
        return 0;
    if (trainer->evaluation)
        result = write_held_out(trainer, err);
    if (result == 0 && step && (trainer->step - trainer->finetune.steps) % every == 0)
        result = write_trained(trainer, step, err);
    return result;
}
