/* Which turns are reported: those of the round that is waited for, with what it did before. */
#include "rl/train/internal.h"

#include "../support/test.h"

#include <stdio.h>
#include <stdlib.h>

struct heard {
    size_t count, done, all;
    const char *phase;
};

static void record_progress(void *context, const struct trainer_progress *progress)
{
    struct heard *heard = context;
    heard->count++;
    heard->done = progress->done;
    heard->all = progress->all;
    heard->phase = progress->phase;
}

static void assert_heard(const struct heard *heard, size_t count, const char *phase, size_t done,
                         size_t all)
{
    assert_int_equal(heard->count, count);
    assert_string_equal(heard->phase, phase);
    assert_int_equal(heard->done, done);
    assert_int_equal(heard->all, all);
}

TEST(rounds)
{
    struct heard heard = {0};
    struct settings settings;
    struct err err = {0};
    const struct trainer_options options = {.on_progress = record_progress, .context = &heard};
    struct trainer trainer = {.options = &options};
    struct round now = {.trainer = &trainer, .all = 4}, ahead = {.trainer = &trainer, .all = 8};
    settings_init(&settings);
    pthread_mutex_init(&trainer.lock, NULL);
    assert_ok(run_open(&trainer.run, support_directory(), &settings, &err), &err);

    trainer_begin_awaited(&trainer, "rollout", &now);
    assert_heard(&heard, 1, "rollout", 0, 4);
    trainer_on_turn(&now, NULL, NULL);
    assert_heard(&heard, 2, "rollout", 1, 4);
    trainer_end_awaited(&trainer);
    trainer_begin_phase(&trainer, "train", 3);
    for (int i = 0; i < 5; i++)
        trainer_on_turn(&ahead, NULL, NULL);
    assert_heard(&heard, 3, "train", 0, 3);
    trainer_begin_awaited(&trainer, "rollout", &ahead);
    assert_heard(&heard, 4, "rollout", 5, 8);
    trainer_on_turn(&ahead, NULL, NULL);
    assert_heard(&heard, 5, "rollout", 6, 8);

    run_close(trainer.run);
    pthread_mutex_destroy(&trainer.lock);
    settings_deinit(&settings);
}
