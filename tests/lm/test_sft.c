/* Fine-tuning: what a step's loss is, resume, retention, what is not finite, and runs that
 * differ. */
#include "lm/train/sft.h"

#include "../support/small_model.h"
#include "../support/test.h"
#include "../support/tiny_lm.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/tokenizer/learn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
struct bench {
    char directory[40];
    struct tokenizer *tokenizer;
    struct dataset *data;
    struct lm_backend *backend;
    struct lm_model *model;
    struct sft_options options;
    _Atomic int cancelled;
    uint64_t cancel_at, began, stepped, skipped, saved, exported;
    double loss[STEPS], evaluation_loss;
};

static char *path_in(const struct bench *bench, const char *name)
{
    return mem_printf("%s/%s", bench->directory, name);
}

static void record_event(void *context, const struct sft_event_info *event)
{
    struct bench *bench = context;
    switch (event->event) {
    case SFT_BEGAN:
        bench->began = event->step;
        assert_int_equal(event->steps, STEPS);
        break;
    case SFT_STEPPED:
        bench->stepped++;
        bench->skipped += event->skipped;
        bench->loss[event->step - 1] = event->loss;
        bench->cancelled = event->step == bench->cancel_at;
        break;
    case SFT_EVALUATED:
        bench->evaluation_loss = event->evaluation_loss;
        break;
    case SFT_SAVED:
        bench->saved++;
        break;
    case SFT_EXPORTED:
        bench->exported++;
        break;
    }
}

static void fresh_model(struct bench *bench)
{
    struct err err = {0};
    const struct lm_config config = tiny_lm_config(tokenizer_size(bench->tokenizer));
    const struct lm_model_options options = {.training = LM_TRAIN_ALL, .seed = 3};
    lm_model_close(bench->model);
    assert_ok(lm_model_fresh(&bench->model, &config, bench->backend, &options, &err), &err);
    bench->stepped = bench->skipped = bench->saved = bench->exported = 0;
}

static void bench_open(struct bench *bench)
{
    const char *corpus = lines;
    const size_t count = sizeof lines - 1;
    const struct learn_options learn = {.vocab = 280, .least = 2};
    struct dataset_options how = dataset_defaults;
    struct err err = {0};
    *bench = (struct bench){.directory = "/tmp/warpgym-sft-XXXXXX", .options = sft_defaults};
    assert_non_null(mkdtemp(bench->directory));
    assert_ok(tokenizer_learn(bench->directory, &corpus, &count, 1, &learn, &err), &err);
    assert_ok(tokenizer_open(&bench->tokenizer, bench->directory, &err), &err);
    char *file = path_in(bench, "data.jsonl");
    assert_ok(file_write_atomic(file, lines, sizeof lines - 1, 0644, &err), &err);
    how.max_tokens = SMALL_POSITIONS;
    assert_ok(dataset_open(&bench->data, (const char *const *)&file, 1, bench->tokenizer, &how,
                           &err),
              &err);
    assert_ok(lm_backend_open(&bench->backend, "reference", 1, &err), &err);
    mem_free(file);
    fresh_model(bench);
    bench->options.steps = STEPS;
    bench->options.step_tokens = STEP_TOKENS;
    bench->options.checkpoint_every = 5;
    bench->options.adam.rate = 0.01;
    bench->options.cancelled = &bench->cancelled;
    bench->options.on_event = record_event;
    bench->options.context = bench;
}

static void bench_close(struct bench *bench)
{
    lm_model_close(bench->model);
    lm_backend_close(bench->backend);
    dataset_close(bench->data);
    tokenizer_close(bench->tokenizer);
    file_remove_tree(bench->directory);
}

static int run_in(struct bench *bench, const char *name, struct err *err)
{
    char *directory = path_in(bench, name);
    bench->options.directory = directory;
    int result = sft_run(bench->model, bench->data, bench->data, &bench->options, err);
    mem_free(directory);
    return result;
}

static char *content(const struct bench *bench, const char *name, size_t *count)
{
    char *path = path_in(bench, name), *bytes = NULL;
    struct err err = {0};
    assert_ok(file_read(path, LIMIT_LM_SIDECAR_BYTES, &bytes, count, &err), &err);
    mem_free(path);
    return bytes;
}

static void assert_there(const struct bench *bench, const char *name, bool there)
{
    char *path = path_in(bench, name);
    if (file_exists(path) != there)
        fail_msg("%s: %s", name, there ? "is missing" : "is there");
    mem_free(path);
}

/* The first step's examples, computed beside it: the mean over what is to be learned. */
TEST(mean_loss)
{
    struct bench bench;
    struct dataset_place place = {0};
    struct lm_trainer *trainer = NULL;
    struct loss_sums sums, part;
    struct err err = {0};
    double loss = 0, targets = 0, weight = 0;
    size_t rows = 0;
    bench_open(&bench);
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
    assert_ok(run_in(&bench, "run", &err), &err);
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
    bench_close(&bench);
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
    struct bench bench;
    struct err err = {0};
    size_t size, other;
    char half[] = "{\"step\":11,\"loss\":1}\n{\"step\":12,\"lo";
    bench_open(&bench);
    assert_ok(run_in(&bench, "whole", &err), &err);
    char *expected = content(&bench, "whole/metrics.jsonl", &other);
    char *weights = content(&bench, "whole/model/model.safetensors", &size);
    assert_there(&bench, "whole/checkpoints/step-00000005", false);
    assert_there(&bench, "whole/checkpoints/step-00000010", true);
    assert_there(&bench, "whole/checkpoints/step-00000012", true);

    fresh_model(&bench);
    bench.cancel_at = 7;
    assert_int_equal(run_in(&bench, "parts", &err), ERR_CANCELLED);
    assert_int_equal(bench.stepped, 7);
    assert_there(&bench, "parts/checkpoints/step-00000007", true);
    assert_there(&bench, "parts/model", false);
    /* Steps behind the checkpoint, the last one cut off; half a checkpoint. */
    char *metrics = content(&bench, "parts/metrics.jsonl", &other);
    char *more = mem_printf("%s%s", metrics, half), *path = path_in(&bench, "parts/metrics.jsonl");
    char *saving = path_in(&bench, "parts/checkpoints/step-00000012.saving");
    assert_ok(file_write_atomic(path, more, strlen(more), 0644, &err), &err);
    assert_ok(file_make_directories(saving, 0755, &err), &err);
    fresh_model(&bench);
    bench.cancel_at = 0;
    bench.cancelled = 0;
    assert_ok(run_in(&bench, "parts", &err), &err);
    assert_int_equal(bench.began, 7);
    assert_int_equal(bench.stepped, STEPS - 7);
    char *found = content(&bench, "parts/metrics.jsonl", &other);
    assert_same_metrics(found, expected);
    char *parts = content(&bench, "parts/model/model.safetensors", &other);
    assert_int_equal(other, size);
    assert_memory_equal(parts, weights, size);
    assert_false(file_exists(saving));

    /* Once more: nothing is trained. */
    fresh_model(&bench);
    assert_ok(run_in(&bench, "parts", &err), &err);
    assert_int_equal(bench.began, STEPS);
    assert_int_equal(bench.stepped, 0);
    mem_free(expected);
    mem_free(weights);
    mem_free(metrics);
    mem_free(more);
    mem_free(path);
    mem_free(saving);
    mem_free(found);
    mem_free(parts);
    bench_close(&bench);
}

TEST(not_finite)
{
    struct bench bench;
    struct err err = {0};
    const float bad = NAN;
    float before[16], after[16];
    bench_open(&bench);
    struct lm_parameter *up = lm_model_find(bench.model, "model.layers.0.mlp.up_proj.weight");
    struct lm_parameter *norm = lm_model_find(bench.model, "model.norm.weight");
    assert_true(up && norm);
    bench.backend->upload(bench.backend, up->value, &bad, sizeof bad);
    bench.backend->download(bench.backend, before, norm->value, sizeof before);
    assert_int_equal(run_in(&bench, "run", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "step 3: the loss or its gradient was not finite 3 times"));
    assert_int_equal(bench.skipped, 3);
    assert_int_equal(bench.saved, 0);
    bench.backend->download(bench.backend, after, norm->value, sizeof after);
    assert_memory_equal(before, after, sizeof before);
    bench_close(&bench);
}

TEST(refused)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench);
    bench.cancel_at = 2;
    assert_int_equal(run_in(&bench, "run", &err), ERR_CANCELLED);
    const struct sft_options as_it_was = bench.options;
    bench.options.adam.rate = 0.02;
    assert_int_equal(run_in(&bench, "run", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "the run began with rate 0.01, now it is 0.02"));
    bench.options = as_it_was;
    json_t *more = json_pack("{s:s}", "model", "other");
    bench.options.configuration = more;
    assert_int_equal(run_in(&bench, "run", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "model not given, now it is \"other\""));
    json_decref(more);
    bench.options = as_it_was;
    bench.options.step_tokens = 0;
    assert_int_equal(run_in(&bench, "other", &err), ERR_INPUT);
    bench.options = as_it_was;
    bench.options.steps = bench.options.epochs = 0;
    assert_int_equal(run_in(&bench, "other", &err), ERR_INPUT);
    bench.options = as_it_was;
    bench.options.keep = 0;
    assert_int_equal(run_in(&bench, "other", &err), ERR_INPUT);
    bench.options = as_it_was;
    /* Said before the first step, not after the last. */
    char *model = path_in(&bench, "taken/model"), *notes = path_in(&bench, "taken/model/notes.txt");
    assert_ok(file_make_directories(model, 0755, &err), &err);
    assert_ok(file_write_atomic(notes, "", 0, 0644, &err), &err);
    bench.stepped = 0;
    assert_int_equal(run_in(&bench, "taken", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "notes.txt, which is no part of a checkpoint"));
    assert_int_equal(bench.stepped, 0);
    mem_free(model);
    mem_free(notes);
    bench_close(&bench);
}
