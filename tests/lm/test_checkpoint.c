/* Checkpoints of a process that is killed, again and again, at any instant of a saving loop; and
 * what is left of dead writers. */
#include "lm/train/checkpoint.h"

#include "../support/scratch.h"
#include "../support/test.h"
#include "../support/tiny_lm.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIALS 24
#define SEED 11
#define BATCH 16

TEST_EACH(scratch_begin, NULL);

/* Goes on from what is there: step, save, say so. Never returns. */
static void be_killed(const char *directory, int said)
{
    struct tiny_lm tiny;
    struct err err = {0};
    tiny_lm_open(&tiny, SEED, 0, BATCH);
    if (lm_trainer_load(tiny.trainer, directory, true, NULL, &err) < 0 && err.code != ERR_MISSING)
        _exit(1);
    for (;;) {
        struct loss_sums sums;
        double norm;
        tiny_lm_step(&tiny, lm_trainer_steps(tiny.trainer), &sums, &norm);
        uint64_t steps = lm_trainer_steps(tiny.trainer);
        if (lm_trainer_save(tiny.trainer, directory, NULL, &err) < 0 ||
            write(said, &steps, sizeof steps) != sizeof steps)
            _exit(1);
    }
}

/* The last step that the child said it had saved. */
static uint64_t kill_somewhere(const char *directory, unsigned trial)
{
    int said[2];
    uint64_t steps = 0, last = 0;
    assert_int_equal(pipe(said), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(said[0]);
        be_killed(directory, said[1]);
    }
    close(said[1]);
    assert_int_equal(read(said[0], &last, sizeof last), sizeof last);
    int64_t start_ns = clock_now_ns();
    assert_int_equal(read(said[0], &last, sizeof last), sizeof last);
    /* Somewhere in the next round, as long as the last one was. */
    int64_t wait_ns = (clock_now_ns() - start_ns) * (trial * 13 % TRIALS) / TRIALS;
    nanosleep(&(struct timespec){wait_ns / 1000000000, wait_ns % 1000000000}, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(said[0], &steps, sizeof steps) == sizeof steps)
        last = steps;
    close(said[0]);
    return last;
}

TEST(killed)
{
    struct tiny_lm alive, loaded;
    struct err err = {0};
    unsigned halves = 0;
    const char *path = scratch_path("last"), *half = scratch_path("last" CHECKPOINT_SAVING);
    tiny_lm_open(&alive, SEED, 0, BATCH);
    tiny_lm_open(&loaded, SEED + 1, 0, BATCH);
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        uint64_t said = kill_somewhere(path, trial);
        halves += file_exists(half);
        assert_ok(lm_trainer_load(loaded.trainer, path, true, NULL, &err), &err);
        uint64_t steps = lm_trainer_steps(loaded.trainer);
        if (steps != said && steps != said + 1)
            fail_msg("trial %u: step %lu, but it had saved %lu", trial, (unsigned long)steps,
                     (unsigned long)said);
        while (lm_trainer_steps(alive.trainer) < steps) {
            struct loss_sums sums;
            double norm;
            tiny_lm_step(&alive, lm_trainer_steps(alive.trainer), &sums, &norm);
        }
        tiny_lm_assert_same(&alive, &loaded, false);
    }
    /* Else no writer was ever killed while it wrote. */
    assert_true(halves > 0);
    assert_int_equal(lm_trainer_save(loaded.trainer, path, NULL, &err), 0);
    assert_false(file_exists(half));
    tiny_lm_close(&alive);
    tiny_lm_close(&loaded);
}

static void assert_found(const char *name, const char *expected)
{
    char *found = NULL;
    int result = checkpoint_find(name, &found, NULL);
    assert_int_equal(result, expected ? 0 : ERR_MISSING);
    if (expected)
        assert_string_equal(found, expected);
    mem_free(found);
}

/* Each instant at which a writer may have died, where names cannot be exchanged as well. */
TEST(leftovers)
{
    struct checkpoint checkpoint;
    struct err err = {0};
    const char *path = scratch_path("deep/last"), *slashed = scratch_path("deep/last//");
    const char *saving = scratch_path("deep/last.saving");
    const char *previous = scratch_path("deep/last.previous");

    support_write(saving, CHECKPOINT_STATE, "half");
    assert_found(path, NULL);
    support_write(previous, CHECKPOINT_STATE, "old");
    assert_found(path, previous);

    /* An aborted one changes nothing; a committed one leaves nothing beside it. */
    assert_int_equal(checkpoint_begin(&checkpoint, slashed, &err), 0);
    assert_string_equal(checkpoint.path, saving);
    support_write(checkpoint.path, CHECKPOINT_STATE, "new");
    assert_int_equal(checkpoint_end(&checkpoint, ERR_IO, &err), ERR_IO);
    assert_false(file_exists(saving));
    assert_found(path, previous);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(checkpoint_begin(&checkpoint, path, &err), 0);
        support_write(checkpoint.path, CHECKPOINT_STATE, round ? "newer" : "new");
        assert_ok(checkpoint_end(&checkpoint, 0, &err), &err);
        assert_found(slashed, path);
        assert_false(file_exists(saving));
        assert_false(file_exists(previous));
    }
    assert_string_equal(scratch_read("deep/last/" CHECKPOINT_STATE, NULL), "newer");

    /* A file, and a directory with somebody's files, stay. */
    scratch_write("file", "mine", 4);
    assert_int_equal(checkpoint_begin(&checkpoint, scratch_path("file"), &err), ERR_IO);
    support_write(saving, "thesis.tex", "mine");
    assert_int_equal(checkpoint_begin(&checkpoint, path, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "thesis.tex"));

    file_remove_tree(saving);
    checkpoint_remove(path);
    assert_found(path, NULL);
    assert_false(file_exists(path) || file_exists(saving));
}
