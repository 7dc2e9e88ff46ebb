/* Fine-tuning: what a step's loss is, resume, retention, what is not finite, and runs that
 * differ. */
#include "lm/train/sft.h"

#include "../support/scratch.h"
#include "../support/small_model.h"
#include "../support/test.h"
#include "../support/tiny_lm.h"
#include "base/file.h"
#include "base/mem.h"
#include "lm/tokenizer/learn.h"

#include <math.h>
#include <stdio.h>

#define STEPS 12
#define STEP_TOKENS 40

static const char lines[] = "{\"prompt\": \"one and one\", \"completion\": \" is two\"}\n"
                            "{\"prompt\": \"two and two\", \"completion\": \" is four\"}\n"
                            "{\"messages\": [{\"role\": \"user\", \"content\": \"?\"}, "
                            "{\"role\": \"assistant\", \"content\": \"no\"}]}\n"
                            "{\"text\": \"one two four\"}\n"
                            "{\"text\": \"and and and and\"}\n"
                            "{\"prompt\": \"four and four\", \"completion\": \" is eight\"}\n";

/* Everything that a run needs, and the events of it. */
static struct {
    struct tokenizer *tokenizer;
    struct dataset *data;
    struct lm_backend *backend;
    struct lm_model *model;
    struct sft_options options;
    _Atomic int cancelled;
    uint64_t cancel_at, began, stepped, skipped, saved, exported;
    double loss[STEPS], evaluation_loss;
} bench;

static void record_event(void *context, const struct sft_event_info *event)
{
    switch (event->event) {
    case SFT_BEGAN:
        bench.began = event->step;
        assert_int_equal(event->steps, STEPS);
        break;
    case SFT_STEPPED:
        bench.stepped++;
        bench.skipped += event->skipped;
        bench.loss[event->step - 1] = event->loss;
        bench.cancelled = event->step == bench.cancel_at;
        break;
    case SFT_EVALUATED:
        bench.evaluation_loss = event->evaluation_loss;
        break;
    case SFT_SAVED:
        bench.saved++;
        break;
    case SFT_EXPORTED:
        bench.exported++;
        break;
    }
}

static void fresh_model(void)
{
    struct err err = {0};
    const struct lm_config config = tiny_lm_config(tokenizer_size(bench.tokenizer));
    const struct lm_model_options options = {.training = LM_TRAIN_ALL, .seed = 3};
    lm_model_close(bench.model);
    assert_ok(lm_model_fresh(&bench.model, &config, bench.backend, &options, &err), &err);
    bench.stepped = bench.skipped = bench.saved = bench.exported = 0;
}

FIXTURE(begin)
{
    const char *corpus = lines;
    const size_t count = sizeof lines - 1;
    const struct learn_options learn = {.vocab = 280, .least = 2};
    struct dataset_options how = dataset_defaults;
    struct err err = {0};
    if (scratch_begin(state) < 0)
        return -1;
    memset(&bench, 0, sizeof bench);
    assert_ok(tokenizer_learn(scratch_path(""), &corpus, &count, 1, &learn, &err), &err);
    assert_ok(tokenizer_open(&bench.tokenizer, scratch_path(""), &err), &err);
    scratch_write("data.jsonl", lines, sizeof lines - 1);
    const char *const file = scratch_path("data.jsonl");
    how.max_tokens = SMALL_POSITIONS;
    assert_ok(dataset_open(&bench.data, &file, 1, bench.tokenizer, &how, &err), &err);
    bench.backend = small_backend("reference");
    fresh_model();
    bench.options = sft_defaults;
    bench.options.steps = STEPS;
    bench.options.step_tokens = STEP_TOKENS;
    bench.options.checkpoint_every = 5;
    bench.options.adam.rate = 0.01;
    bench.options.cancelled = &bench.cancelled;
    bench.options.on_event = record_event;
    return 0;
}

FIXTURE(end)
{
    lm_model_close(bench.model);
    lm_backend_close(bench.backend);
    dataset_close(bench.data);
    tokenizer_close(bench.tokenizer);
    return 0;
}

TEST_EACH(begin, end);

static int run_in(const char *name, struct err *err)
{
    bench.options.directory = scratch_path(name);
    return sft_run(bench.model, bench.data, bench.data, &bench.options, err);
}

static void assert_there(const char *name, bool there)
{
    if (file_exists(scratch_path(name)) != there)
        fail_msg("%s: %s", name, there ? "is missing" : "is there");
}

/* The first step's examples, computed beside it: the mean over what is to be learned. */
TEST(mean_loss)
{
    struct dataset_place place = {0};
    struct lm_trainer *trainer = NULL;
    struct loss_sums sums, part;
    struct err err = {0};
    double loss = 0, targets = 0, weight = 0;
    size_t rows = 0;
    const struct lm_trainer_options options = {.batch_tokens = STEP_TOKENS};
    assert_ok(lm_trainer_open(&trainer, bench.model, &options, &err), &err);
    for (;;) {
        struct lm_datum datum;
        dataset_next(bench.data, &place, &datum);
        rows += datum.count;
        if (rows > STEP_TOKENS)
            break;
        assert_ok(lm_trainer_forward(trainer, &datum, 1, loss_find("cross_entropy"), NULL, &part,
                                     &err),
                  &err);
        loss += part.loss;
        targets += part.tokens;
        for (size_t i = 0; i < datum.count; i++)
            weight += datum.weights[i];
    }
    assert_true(targets > 0 && targets < (double)rows);
    assert_float_equal(weight, targets, 0);
    lm_trainer_close(trainer);
    assert_ok(run_in("run", &err), &err);
    assert_float_equal(bench.loss[0], loss / targets, 1e-5);
    assert_int_equal(bench.stepped, STEPS);
    assert_int_equal(bench.exported, 1);
    /* The evaluation at the end, of the same data. */
    assert_ok(lm_trainer_open(&trainer, bench.model, &options, &err), &err);
    sums = (struct loss_sums){0};
    for (size_t i = 0; i < dataset_count(bench.data); i++) {
        struct lm_datum datum;
        dataset_at(bench.data, 0, i, &datum);
        assert_ok(lm_trainer_forward(trainer, &datum, 1, loss_find("cross_entropy"), NULL, &part,
                                     &err),
                  &err);
        loss_sums_add(&sums, &part);
    }
    lm_trainer_close(trainer);
    assert_float_equal(bench.evaluation_loss, sums.loss / sums.tokens, 1e-5);
    assert_true(bench.evaluation_loss < bench.loss[0]);
}

/* All lines, without the time that each took. */
static void assert_same_metrics(const char *left, const char *right)
{
    while (*left && *right) {
        size_t a = strcspn(left, "\n"), b = strcspn(right, "\n");
        const char *left_time = strstr(left, ",\"tokens_per_s\""),
                   *right_time = strstr(right, ",\"tokens_per_s\"");
        size_t one = left_time && left_time < left + a ? (size_t)(left_time - left) : a;
        size_t two = right_time && right_time < right + b ? (size_t)(right_time - right) : b;
        assert_int_equal(one, two);
        assert_memory_equal(left, right, one);
        left += a + 1;
        right += b + 1;
    }
    assert_true(*left == *right);
}

/* Stopped by the user, and in a directory with what a killed writer leaves: the same numbers. */
TEST(resume)
{
    struct err err = {0};
    size_t size, other;
    char half[] = "{\"step\":11,\"loss\":1}\n{\"step\":12,\"lo";
    assert_ok(run_in("whole", &err), &err);
    const char *expected = scratch_read("whole/metrics.jsonl", NULL);
    const char *weights = scratch_read("whole/model/model.safetensors", &size);
    assert_there("whole/checkpoints/step-00000005", false);
    assert_there("whole/checkpoints/step-00000010", true);
    assert_there("whole/checkpoints/step-00000012", true);

    fresh_model();
    bench.cancel_at = 7;
    assert_int_equal(run_in("parts", &err), ERR_CANCELLED);
    assert_int_equal(bench.stepped, 7);
    assert_there("parts/checkpoints/step-00000007", true);
    assert_there("parts/model", false);
    /* Steps behind the checkpoint, the last one cut off; half a checkpoint. */
    char *more = mem_printf("%s%s", scratch_read("parts/metrics.jsonl", NULL), half);
    scratch_write("parts/metrics.jsonl", more, strlen(more));
    mem_free(more);
    scratch_write("parts/checkpoints/step-00000012.saving/state.json", "", 0);
    fresh_model();
    bench.cancel_at = 0;
    bench.cancelled = 0;
    assert_ok(run_in("parts", &err), &err);
    assert_int_equal(bench.began, 7);
    assert_int_equal(bench.stepped, STEPS - 7);
    assert_same_metrics(scratch_read("parts/metrics.jsonl", NULL), expected);
    const char *parts = scratch_read("parts/model/model.safetensors", &other);
    assert_int_equal(other, size);
    assert_memory_equal(parts, weights, size);
    assert_there("parts/checkpoints/step-00000012.saving", false);

    /* Once more: nothing is trained. */
    fresh_model();
    assert_ok(run_in("parts", &err), &err);
    assert_int_equal(bench.began, STEPS);
    assert_int_equal(bench.stepped, 0);
}

TEST(not_finite)
{
    struct err err = {0};
    const float bad = NAN;
    float before[16], after[16];
    struct lm_parameter *up = lm_model_find(bench.model, "model.layers.0.mlp.up_proj.weight");
    struct lm_parameter *norm = lm_model_find(bench.model, "model.norm.weight");
    assert_true(up && norm);
    bench.backend->upload(bench.backend, up->value, &bad, sizeof bad);
    bench.backend->download(bench.backend, before, norm->value, sizeof before);
    assert_int_equal(run_in("run", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "step 3: the loss or its gradient was not finite 3 times"));
    assert_int_equal(bench.skipped, 3);
    assert_int_equal(bench.saved, 0);
    bench.backend->download(bench.backend, after, norm->value, sizeof after);
    assert_memory_equal(before, after, sizeof before);
}

TEST(refused)
{
    struct err err = {0};
    bench.cancel_at = 2;
    assert_int_equal(run_in("run", &err), ERR_CANCELLED);
    const struct sft_options as_it_was = bench.options;
    bench.options.adam.rate = 0.02;
    assert_int_equal(run_in("run", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "the run began with rate 0.01, now it is 0.02"));
    bench.options = as_it_was;
    json_t *more = json_pack("{s:s}", "model", "other");
    bench.options.configuration = more;
    assert_int_equal(run_in("run", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "model not given, now it is \"other\""));
    json_decref(more);
    bench.options = as_it_was;
    bench.options.step_tokens = 0;
    assert_int_equal(run_in("other", &err), ERR_INPUT);
    bench.options = as_it_was;
    bench.options.steps = bench.options.epochs = 0;
    assert_int_equal(run_in("other", &err), ERR_INPUT);
    bench.options = as_it_was;
    bench.options.keep = 0;
    assert_int_equal(run_in("other", &err), ERR_INPUT);
    bench.options = as_it_was;
    /* Said before the first step, not after the last. */
    scratch_write("taken/model/notes.txt", "", 0);
    bench.stepped = 0;
    assert_int_equal(run_in("taken", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "notes.txt, which is no part of a checkpoint"));
    assert_int_equal(bench.stepped, 0);
}
