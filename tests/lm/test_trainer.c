/* The trainer: datums in order and in batches, gradients that add up, refusals, and checkpoints
 * that go on bit for bit. */
#include "lm/train/trainer.h"

#include "../support/scratch.h"
#include "../support/test.h"
#include "../support/tiny_lm.h"
#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DATUMS 5

static const size_t lengths[DATUMS] = {7, 1, 9, 4, 9};

static struct loss_sums work(struct tiny_lm *tiny, bool gradients, struct lm_datum *datums,
                             size_t count, const char *loss)
{
    struct loss_sums sums;
    struct err err = {0};
    assert_ok((gradients ? lm_trainer_forward_backward : lm_trainer_forward)(tiny->trainer, datums,
                                                                             count, loss_find(loss),
                                                                             NULL, &sums, &err),
              &err);
    return sums;
}

static bool has_gradients(const struct tiny_lm *tiny)
{
    size_t count;
    bool found = false;
    float *values = tiny_lm_values(tiny, true, &count);
    for (size_t i = 0; i < count; i++)
        found |= values[i] != 0;
    mem_free(values);
    return found;
}

/* Each datum alone, two at a time, all at once: the same log-probabilities, at their datum. */
TEST(batches)
{
    static const size_t budgets[] = {9, 16, 64};
    float *expected[DATUMS];
    for (size_t b = 0; b < 3; b++) {
        struct tiny_lm tiny;
        struct lm_datum datums[DATUMS];
        double loss = 0, entropy = 0, tokens = 0;
        tiny_lm_open(&tiny, 1, 0, budgets[b]);
        for (size_t i = 0; i < DATUMS; i++)
            datums[i] = tiny_datum(i, lengths[i], 1);
        struct loss_sums sums = work(&tiny, b == 2, datums, DATUMS, "cross_entropy");
        assert_true(has_gradients(&tiny) == (b == 2));
        for (size_t i = 0; i < DATUMS; i++) {
            for (size_t k = 0; k < lengths[i]; k++) {
                assert_true(datums[i].logprob[k] < 0);
                assert_true(datums[i].entropy[k] > 0);
                assert_true(datums[i].entropy[k] <= logf(TINY_VOCAB) + 1e-5F);
                loss -= (double)datums[i].weights[k] * (double)datums[i].logprob[k];
                tokens += datums[i].weights[k] != 0;
                entropy += datums[i].weights[k] != 0 ? (double)datums[i].entropy[k] : 0;
                if (b > 0)
                    assert_float_equal(datums[i].logprob[k], expected[i][k], 1e-5);
            }
            if (b == 0) {
                expected[i] = mem_alloc(lengths[i] * sizeof(float));
                memcpy(expected[i], datums[i].logprob, lengths[i] * sizeof(float));
            }
            tiny_datum_free(&datums[i]);
        }
        assert_float_equal(sums.loss, loss, 1e-9);
        assert_float_equal(sums.tokens, tokens, 0);
        assert_float_equal(sums.entropy, entropy, 1e-9);
        tiny_lm_close(&tiny);
    }
    for (size_t i = 0; i < DATUMS; i++)
        mem_free(expected[i]);
}

/* Calls add up: four datums in one call, in batches of one, are two calls of two. */
TEST(accumulation)
{
    struct tiny_lm once, twice;
    struct lm_datum datums[4];
    struct loss_sums whole, part;
    tiny_lm_open(&once, 2, 0, 10);
    tiny_lm_open(&twice, 2, 0, 10);
    for (size_t i = 0; i < 4; i++)
        datums[i] = tiny_datum(10 + i, 6 + i, 1);
    whole = work(&once, true, datums, 4, "importance_sampling");
    part = work(&twice, true, datums, 2, "importance_sampling");
    assert_true(has_gradients(&twice));
    struct loss_sums rest = work(&twice, true, datums + 2, 2, "importance_sampling");
    loss_sums_add(&part, &rest);
    assert_float_equal(part.loss, whole.loss, 1e-9);
    assert_float_equal(part.ratio, whole.ratio, 1e-9);
    tiny_lm_assert_same(&once, &twice, true);
    for (size_t i = 0; i < 4; i++)
        tiny_datum_free(&datums[i]);
    tiny_lm_close(&once);
    tiny_lm_close(&twice);
}

/* Rows with several targets beside rows with one. */
TEST(soft_targets)
{
    static const size_t targets[3] = {3, 1, 3};
    struct tiny_lm tiny;
    struct lm_datum datums[3];
    double loss = 0;
    tiny_lm_open(&tiny, 3, 0, 32);
    for (size_t i = 0; i < 3; i++)
        datums[i] = tiny_datum(20 + i, 6, targets[i]);
    struct loss_sums sums = work(&tiny, true, datums, 3, "cross_entropy");
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 6 * targets[i]; k++)
            loss -= (double)datums[i].weights[k] * (double)datums[i].logprob[k];
        tiny_datum_free(&datums[i]);
    }
    assert_float_equal(sums.loss, loss, 1e-9);
    tiny_lm_close(&tiny);
}

TEST(entropy_rises)
{
    const struct loss_config config = {NAN, NAN, NAN, NAN, 0.5};
    const struct lm_adam adam = {.rate = 0.01, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
    struct tiny_lm tiny;
    struct lm_datum datum = tiny_datum(30, 12, 1);
    struct loss_sums sums;
    double first = 0;
    tiny_lm_open(&tiny, 4, 0, 16);
    for (int i = 0; i < 12; i++)
        ((float *)datum.weights)[i] = i == 0 ? 1e-6F : 0;
    /* With hardly any weight the loss is -0.5 x entropy of one row: it rises, to its end. */
    for (int step = 0; step < 60; step++) {
        assert_int_equal(lm_trainer_forward_backward(tiny.trainer, &datum, 1,
                                                     loss_find("cross_entropy"), &config, &sums,
                                                     NULL),
                         0);
        first = step == 0 ? sums.entropy : first;
        assert_int_equal(lm_trainer_step(tiny.trainer, &adam, NULL, NULL), 0);
    }
    assert_true(first < log(TINY_VOCAB) - 0.05);
    assert_float_equal(sums.entropy, log(TINY_VOCAB), 0.01);
    tiny_datum_free(&datum);
    tiny_lm_close(&tiny);
}

/* What would be stepped with is not there. */
TEST(loss_that_is_not_finite)
{
    struct tiny_lm tiny;
    struct lm_datum datum = tiny_datum(31, 6, 1);
    tiny_lm_open(&tiny, 4, 0, 16);
    work(&tiny, true, &datum, 1, "cross_entropy");
    assert_true(has_gradients(&tiny));
    ((float *)tiny.model->final_norm->value)[0] = NAN;
    assert_false(isfinite(work(&tiny, true, &datum, 1, "cross_entropy").loss));
    assert_false(has_gradients(&tiny));
    tiny_datum_free(&datum);
    tiny_lm_close(&tiny);
}

enum wrong {
    TOKEN,
    TARGET,
    LONG,
    POSITIONS,
    EMPTY,
    WEIGHT,
    NO_Q,
    NO_A,
    Q,
    A,
    Q_MASKED,
    SOFT,
    MANY
};

/* What the datum owns stays in it; the copy has what is wrong. */
static struct lm_datum spoiled(enum wrong wrong, const struct lm_datum *datum)
{
    struct lm_datum bad = *datum;
    if (wrong == TOKEN)
        ((int32_t *)bad.tokens)[3] = TINY_VOCAB;
    if (wrong == TARGET)
        ((int32_t *)bad.targets)[3] = -1;
    if (wrong == WEIGHT)
        ((float *)bad.weights)[3] = NAN;
    if (wrong == Q || wrong == Q_MASKED)
        ((float *)bad.sampled)[wrong == Q ? 3 : 0] = NAN;
    if (wrong == A)
        ((float *)bad.advantages)[3] = INFINITY;
    bad.count = wrong == EMPTY ? 0 : bad.count;
    bad.sampled = wrong == NO_Q ? NULL : bad.sampled;
    bad.advantages = wrong == NO_A ? NULL : bad.advantages;
    bad.targets_per_row = wrong == MANY ? 1025 : bad.targets_per_row;
    return bad;
}

static const struct {
    enum wrong wrong;
    const char *loss, *why; /* NULL: accepted */
} refused[] = {
    {TOKEN, "cross_entropy", "datum 2: row 3: token 48 is not in the vocabulary of 48"},
    {TARGET, "cross_entropy", "datum 2: row 3: target -1 is not in the vocabulary of 48"},
    {LONG, "cross_entropy", "datum 2: its 41 tokens exceed the 40 of a pass (batch_tokens)"},
    {POSITIONS, "cross_entropy", "datum 2: its 33 tokens are more than the model's 32"},
    {EMPTY, "cross_entropy", "datum 2: it is empty"},
    {WEIGHT, "cross_entropy", "datum 2: row 3: the weight is nan"},
    {WEIGHT, "ppo", "datum 2: row 3: the weight is nan"},
    {NO_Q, "cross_entropy", NULL},
    {NO_Q, "cispo", "datum 2: the loss cispo needs the sampler's log-probabilities"},
    {NO_A, "dro", "datum 2: the loss dro needs advantages"},
    {Q, "ppo", "datum 2: row 3: the sampler's log-probability is nan"},
    {Q_MASKED, "ppo", NULL},
    {A, "importance_sampling", "datum 2: row 3: the advantage is inf"},
    {SOFT, "ppo", "datum 2: the loss ppo takes one target a row, not 2"},
    {MANY, "cross_entropy", "datum 2: 1025 targets a row"},
};

/* What is wrong with the third datum is found before the first is computed. */
TEST(refused)
{
    struct tiny_lm tiny;
    tiny_lm_open(&tiny, 5, 0, 40);
    for (size_t r = 0; r < COUNT(refused); r++) {
        enum wrong wrong = refused[r].wrong;
        size_t count = wrong == LONG ? 41 : wrong == POSITIONS ? 33 : 8;
        struct lm_datum datums[3] = {tiny_datum(1, 4, 1), tiny_datum(2, 4, 1),
                                     tiny_datum(3, count, wrong == SOFT ? 2 : 1)};
        struct lm_datum given[3] = {datums[0], datums[1], spoiled(wrong, &datums[2])};
        struct loss_sums sums;
        struct err err = {0};
        int result = lm_trainer_forward_backward(tiny.trainer, given, 3, loss_find(refused[r].loss),
                                                 NULL, &sums, &err);
        if ((result == 0) != (refused[r].why == NULL) ||
            (refused[r].why && !strstr(err.text, refused[r].why)))
            fail_msg("row %zu: %d, %s", r, result, err.text);
        assert_true(has_gradients(&tiny) == (result == 0));
        lm_model_zero_gradients(tiny.model);
        for (int i = 0; i < 3; i++)
            tiny_datum_free(&datums[i]);
    }
    tiny_lm_close(&tiny);
}

TEST_EACH(scratch_begin, NULL);

/* N steps, saved, loaded into another trainer, N steps: 2N steps, bit for bit. */
TEST(resume)
{
    const char *path = scratch_path("runs/a");
    for (size_t rank = 0; rank <= 4; rank += 4) {
        struct tiny_lm whole, first, second;
        struct loss_sums expected, sums;
        double norm, expected_norm;
        struct err err = {0};
        json_t *more = json_pack("{s:f, s:I}", "x", 1.0 / 3, "y", (json_int_t)1 << 60);
        json_t *loaded = NULL;
        tiny_lm_open(&whole, 6, rank, 12);
        tiny_lm_open(&first, 6, rank, 12);
        /* Of an adapter's checkpoint the base is no part. */
        tiny_lm_open(&second, rank > 0 ? 6 : 7, rank, 12);
        for (uint64_t t = 0; t < 4; t++)
            tiny_lm_step(&first, t, &sums, &norm);
        assert_ok(lm_trainer_save(first.trainer, path, more, &err), &err);
        assert_ok(lm_trainer_load(second.trainer, path, true, &loaded, &err), &err);
        assert_true(json_equal(loaded, more));
        assert_int_equal(lm_trainer_steps(second.trainer), 4);
        tiny_lm_assert_same(&first, &second, false);
        for (uint64_t t = 0; t < 8; t++) {
            tiny_lm_step(&whole, t, &expected, &expected_norm);
            if (t < 4)
                continue;
            tiny_lm_step(&second, t, &sums, &norm);
            assert_memory_equal(&sums, &expected, sizeof sums);
            assert_memory_equal(&norm, &expected_norm, sizeof norm);
        }
        tiny_lm_assert_same(&whole, &second, false);
        json_decref(more);
        json_decref(loaded);
        tiny_lm_close(&whole);
        tiny_lm_close(&first);
        tiny_lm_close(&second);
    }
}

static void assert_refused(int result, int code, const struct err *err, const char *why)
{
    if (result != code || !strstr(err->text, why))
        fail_msg("%d, %s", result, err->text);
}

TEST(wrong_checkpoints)
{
    struct tiny_lm full, adapter;
    struct err err = {0};
    const char *path = scratch_path("a");
    tiny_lm_open(&full, 8, 0, 12);
    tiny_lm_open(&adapter, 8, 2, 12);
    assert_refused(lm_trainer_load(full.trainer, path, true, NULL, &err), ERR_MISSING, &err,
                   "is no checkpoint");
    assert_int_equal(lm_trainer_save(full.trainer, path, NULL, &err), 0);
    assert_int_equal(lm_trainer_load(full.trainer, path, true, NULL, &err), 0);
    assert_refused(lm_trainer_load(adapter.trainer, path, true, NULL, &err), ERR_INPUT, &err,
                   "trains the model, this trainer the adapter");
    support_write(path, "state.json", "{\"format\": 2, \"weights\": \"model\"}");
    assert_refused(lm_trainer_load(full.trainer, path, true, NULL, &err), ERR_INPUT, &err,
                   "format 2");
    support_write(path, "state.json", "{\"format\": 1, ");
    assert_refused(lm_trainer_load(full.trainer, path, true, NULL, &err), ERR_INPUT, &err,
                   "state.json:1:");
    /* A checkpoint replaces a checkpoint, and nothing else. */
    assert_int_equal(lm_trainer_save(full.trainer, path, NULL, &err), 0);
    assert_int_equal(lm_trainer_load(full.trainer, path, false, NULL, &err), 0);
    support_write(path, "notes.txt", "mine");
    assert_refused(lm_trainer_save(full.trainer, path, NULL, &err), ERR_INPUT, &err,
                   "notes.txt, which is no part of a checkpoint");
    assert_true(file_exists(scratch_path("a/notes.txt")));
    tiny_lm_close(&full);
    tiny_lm_close(&adapter);
}
