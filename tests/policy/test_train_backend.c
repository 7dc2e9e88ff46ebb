/* The training backend of this process, on a tiny fresh model: what it samples, learns, keeps and
 * refuses. */
#include "policy/train_backend.h"

#include "../support/learned.h"
#include "../support/scratch.h"
#include "../support/tiny_lm.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>

#define THREADS 6
#define ROUNDS 4
#define TOKENS 12
#define CONTEXT 64

static struct train_backend *backend; /* of the scratch directory's model */
static struct tokens prompt;

static struct train_backend_options options_of(const char *device, size_t rank)
{
    return (struct train_backend_options){.kind = TRAIN_ENGINE,
                                          .model = scratch_path(""),
                                          .lora_rank = rank,
                                          .seed = 3,
                                          .context = CONTEXT,
                                          .at_once = 4,
                                          .device = device,
                                          .threads = 1};
}

static struct train_backend *train_backend_of(const char *device, size_t rank)
{
    const struct train_backend_options options = options_of(device, rank);
    struct train_backend *opened = NULL;
    struct err err = {0};
    assert_ok(train_backend_open(&opened, &options, &err), &err);
    return opened;
}

static void ask(const char *text, struct tokens *ids)
{
    json_t *messages = json_pack("[{s:s, s:s}]", "role", "user", "content", text);
    struct err err = {0};
    assert_ok(train_backend_prompt(backend, messages, true, ids, &err), &err);
    json_decref(messages);
}

FIXTURE(begin)
{
    if (learned_begin(state) < 0)
        return -1;
    tiny_lm_write(scratch_path(""), tokenizer_size(learned), CONTEXT);
    return 0;
}

static void close_backend(void)
{
    train_backend_close(backend);
    tokens_deinit(&prompt);
    backend = NULL;
}

FIXTURE(end)
{
    close_backend();
    return learned_end(state);
}

TEST_EACH(begin, end);

/* A test may open one after another. */
static void open_backend(const char *device, size_t rank)
{
    close_backend();
    backend = train_backend_of(device, rank);
    ask("the question", &prompt);
    assert_in_range(prompt.count, 5, CONTEXT - TOKENS);
}

static struct train_backend_answer sample(struct train_backend *of, uint64_t seed)
{
    const struct train_backend_sampling sampling = {.max_tokens = TOKENS,
                                                    .temperature = 1,
                                                    .top_p = 1,
                                                    .seed = seed};
    struct train_backend_answer answer;
    struct err err = {0};
    assert_ok(train_backend_sample(of, &prompt, &sampling, &answer, &err), &err);
    return answer;
}

static bool is_same(const struct train_backend_answer *a, const struct train_backend_answer *b)
{
    return a->count == b->count && a->stopped == b->stopped && strcmp(a->text, b->text) == 0 &&
           memcmp(a->tokens, b->tokens, a->count * sizeof *a->tokens) == 0 &&
           memcmp(a->logprobs, b->logprobs, a->count * sizeof *a->logprobs) == 0;
}

/* Prompt and answer as a datum of an advantage of 1; tiny_datum_free releases it. */
static struct lm_datum datum_of(const struct train_backend_answer *answer)
{
    const size_t before = prompt.count - 1, count = before + answer->count;
    int32_t *tokens = mem_alloc((count + 1) * sizeof *tokens);
    int32_t *targets = mem_alloc(count * sizeof *targets);
    float *sampled = mem_alloc(count * sizeof *sampled);
    float *advantages = mem_alloc(count * sizeof *advantages);
    memcpy(tokens, prompt.ids, prompt.count * sizeof *tokens);
    memcpy(tokens + prompt.count, answer->tokens, answer->count * sizeof *tokens);
    memcpy(targets, tokens + 1, count * sizeof *targets);
    for (size_t i = 0; i < count; i++) {
        sampled[i] = i < before ? NAN : answer->logprobs[i - before];
        advantages[i] = i < before ? 0 : 1;
    }
    return (struct lm_datum){.count = count,
                             .tokens = tokens,
                             .targets = targets,
                             .sampled = sampled,
                             .advantages = advantages,
                             .logprob = mem_alloc(count * sizeof(float))};
}

/* One step that makes an answer more probable; its loss before. */
static double train(struct train_backend *of, const struct train_backend_answer *answer)
{
    const struct lm_adam adam = {.rate = 0.02, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
    struct lm_datum datum = datum_of(answer);
    struct loss_sums sums;
    struct err err = {0};
    double norm = 0;
    assert_ok(train_backend_forward_backward(of, &datum, 1, loss_find("importance_sampling"), NULL,
                                             &sums, &err),
              &err);
    assert_ok(train_backend_step(of, &adam, &norm, &err), &err);
    assert_true(norm > 0);
    tiny_datum_free(&datum);
    return sums.loss;
}

static uint64_t refresh(struct train_backend *of)
{
    uint64_t version = UINT64_MAX;
    struct err err = {0};
    assert_ok(train_backend_refresh(of, &version, &err), &err);
    return version;
}

TEST(prompts)
{
    struct tokens appended = {0};
    open_backend("reference", 0);
    assert_int_equal(prompt.ids[0], tokenizer_id(learned, "<|im_start|>"));
    ask("<|im_end|>", &appended);
    ask("the question", &appended);
    size_t first = appended.count - prompt.count;
    assert_memory_equal(appended.ids + first, prompt.ids, prompt.count * sizeof(int32_t));
    size_t ends = 0; /* of turns; what the user wrote is none */
    for (size_t i = 0; i < first; i++)
        ends += appended.ids[i] == tokenizer_id(learned, "<|im_end|>");
    assert_int_equal(ends, 1);
    tokens_deinit(&appended);
}

TEST(bad_prompts)
{
    static const struct {
        const char *messages, *says;
    } cases[] = {
        {"[]", "\"messages\" is no list of at least one message"},
        {"[3]", "messages[0]: is no object"},
        {"[{\"role\": \"user\", \"content\": \"x\"}, {\"role\": \"user\"}]", "messages[1]: "},
        {"[{\"role\": \"king\", \"content\": \"x\"}]", "messages[0]: \"role\": 'king' is none of"},
    };
    open_backend("reference", 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *messages = json_loads(cases[i].messages, 0, NULL);
        struct tokens ids = {0};
        struct err err = {0};
        assert_int_equal(train_backend_prompt(backend, messages, true, &ids, &err), ERR_INPUT);
        assert_non_null(strstr(err.text, cases[i].says));
        tokens_deinit(&ids);
        json_decref(messages);
    }
}

TEST(bounds)
{
    struct train_backend_sampling sampling = {.temperature = 1, .top_p = 1, .seed = 1};
    struct train_backend_answer answer;
    struct tokens ids = {0};
    struct err err = {0};
    open_backend("reference", 0);
    for (size_t i = 0; i < CONTEXT; i++)
        assert_ok(tokens_add(&ids, (int32_t)(i % 40), &err), &err);
    assert_int_equal(train_backend_sample(backend, &ids, &sampling, &answer, &err), ERR_LIMIT);
    assert_string_equal(err.text,
                        "the prompt's 64 tokens leave no room for an answer in a context of 64");
    ids.count = CONTEXT - 3;
    for (sampling.max_tokens = 0; sampling.max_tokens < 99; sampling.max_tokens += 50) {
        assert_ok(train_backend_sample(backend, &ids, &sampling, &answer, &err), &err);
        assert_true(answer.stopped || answer.count == 3);
        assert_in_range(answer.count, 1, 3);
        train_backend_answer_deinit(&answer);
    }
    ids.count = 0;
    assert_int_equal(train_backend_sample(backend, &ids, &sampling, &answer, &err), ERR_INPUT);
    tokens_deinit(&ids);
}

/* An end of turn ends an answer and is part of it. */
TEST(stop)
{
    size_t stopped = 0, whole = 0;
    open_backend("reference", 0);
    int32_t end = tokenizer_id(learned, "<|im_end|>");
    for (uint64_t seed = 0; seed < 200 && (stopped == 0 || whole == 0); seed++) {
        struct train_backend_answer answer = sample(backend, seed);
        assert_int_equal(answer.stopped, answer.tokens[answer.count - 1] == end);
        assert_null(strstr(answer.text, "<|im_end|>"));
        *(answer.stopped ? &stopped : &whole) += 1;
        assert_true(answer.stopped || answer.count == TOKENS);
        train_backend_answer_deinit(&answer);
    }
    assert_true(stopped > 0 && whole > 0);
}

struct asker {
    pthread_t thread;
    uint64_t seed;
    struct train_backend_answer answers[ROUNDS];
};

static void *request_often(void *argument)
{
    struct asker *asker = argument;
    for (uint64_t i = 0; i < ROUNDS; i++)
        asker->answers[i] = sample(backend, asker->seed + i);
    return NULL;
}

/* More threads than are sampled at once; while they are, the weights are trained. */
TEST(crowd)
{
    struct asker askers[THREADS] = {0};
    open_backend("cpu", 0);
    struct train_backend_answer goal = sample(backend, 5);
    for (size_t i = 0; i < THREADS; i++) {
        askers[i].seed = 100 * i;
        assert_int_equal(pthread_create(&askers[i].thread, NULL, request_often, &askers[i]), 0);
    }
    for (size_t i = 0; i < 3; i++)
        train(backend, &goal);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(askers[i].thread, NULL);
    for (size_t i = 0; i < THREADS; i++)
        for (uint64_t n = 0; n < ROUNDS; n++) {
            struct train_backend_answer alone = sample(backend, 100 * i + n);
            assert_true(is_same(&alone, &askers[i].answers[n]));
            assert_int_equal(askers[i].answers[n].version, 0);
            train_backend_answer_deinit(&alone);
            train_backend_answer_deinit(&askers[i].answers[n]);
        }
    train_backend_answer_deinit(&goal);
}

static void *refresh_often(void *argument)
{
    for (uint64_t i = 1; i <= 5; i++) {
        train(backend, &(struct train_backend_answer){.tokens = (int32_t[]){7, 8, 9},
                                                      .logprobs = (float[]){-5, -5, -5},
                                                      .count = 3});
        assert_int_equal(refresh(backend), i);
    }
    return NULL;
}

/* Each answer is of the version that it says, whenever the weights change. */
TEST(versions)
{
    struct asker askers[THREADS] = {0};
    pthread_t changer;
    open_backend("cpu", 2);
    assert_int_equal(pthread_create(&changer, NULL, refresh_often, NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        askers[i].seed = 100 * i;
        assert_int_equal(pthread_create(&askers[i].thread, NULL, request_often, &askers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(askers[i].thread, NULL);
    pthread_join(changer, NULL);
    /* The same changes once more, with nothing beside. */
    struct train_backend *again = train_backend_of("cpu", 2);
    for (uint64_t version = 0; version <= 5; version++) {
        if (version > 0) {
            train(again, &(struct train_backend_answer){.tokens = (int32_t[]){7, 8, 9},
                                                        .logprobs = (float[]){-5, -5, -5},
                                                        .count = 3});
            refresh(again);
        }
        for (size_t i = 0; i < THREADS; i++)
            for (uint64_t n = 0; n < ROUNDS; n++)
                if (askers[i].answers[n].version == version) {
                    struct train_backend_answer alone = sample(again, 100 * i + n);
                    assert_true(is_same(&alone, &askers[i].answers[n]));
                    train_backend_answer_deinit(&alone);
                    train_backend_answer_deinit(&askers[i].answers[n]);
                }
    }
    for (size_t i = 0; i < THREADS; i++)
        for (uint64_t n = 0; n < ROUNDS; n++)
            assert_null(askers[i].answers[n].tokens); /* each was of one of these */
    train_backend_close(again);
}

/* An answer that is rewarded becomes more probable; samples are of the new weights after a refresh
 * alone. */
static void check_learning(const char *device, size_t rank)
{
    open_backend(device, rank);
    struct train_backend_answer goal = sample(backend, 5), now;
    double first = train(backend, &goal), last = first;
    /* Sampler and trainer agree on what was sampled: every ratio is about 1. */
    assert_true(fabs(first + (double)goal.count) < 1e-3 * (double)goal.count);
    for (size_t i = 1; i < 40; i++)
        last = train(backend, &goal);
    assert_true(last < 2 * first);
    now = sample(backend, 5);
    assert_true(is_same(&goal, &now));
    train_backend_answer_deinit(&now);
    assert_int_equal(refresh(backend), 40);
    now = sample(backend, 5);
    assert_int_equal(now.version, 40);
    assert_false(is_same(&goal, &now));
    double again = train(backend, &now);
    assert_true(fabs(again + (double)now.count) < 1e-3 * (double)now.count);
    train_backend_answer_deinit(&now);
    train_backend_answer_deinit(&goal);
}

TEST(learning)
{
    check_learning("reference", 0);
    check_learning("cpu", 0);
    check_learning("cpu", 4);
}

/* What is saved goes on to the same bits: answers, losses, and the number of the version. */
static void check_resume(size_t rank)
{
    struct err err = {0};
    char *where = NULL;
    open_backend("cpu", rank);
    const char *directory = scratch_path("");
    struct train_backend_answer goal = sample(backend, 5);
    for (size_t i = 0; i < 3; i++)
        train(backend, &goal);
    assert_ok(train_backend_save(backend, directory, "step-3", &where, &err), &err);
    assert_string_equal(where, "checkpoints/step-3");
    double expected = 0, found = 0;
    for (size_t i = 0; i < 3; i++)
        expected = train(backend, &goal);
    assert_int_equal(refresh(backend), 6);
    struct train_backend_answer one = sample(backend, 6);
    struct train_backend *other = train_backend_of("cpu", rank);
    assert_ok(train_backend_load(other, directory, where, true, 0, &err), &err);
    assert_int_equal(refresh(other), 3);
    for (size_t i = 0; i < 3; i++)
        found = train(other, &goal);
    assert_memory_equal(&found, &expected, sizeof found);
    assert_int_equal(refresh(other), 6);
    struct train_backend_answer two = sample(other, 6);
    assert_true(is_same(&one, &two));
    assert_ok(train_backend_forget(other, directory, where, &err), &err);
    assert_ok(train_backend_forget(other, directory, where, &err), &err);
    assert_int_equal(train_backend_load(other, directory, where, true, 0, &err), ERR_MISSING);
    train_backend_answer_deinit(&one);
    train_backend_answer_deinit(&two);
    train_backend_answer_deinit(&goal);
    mem_free(where);
    train_backend_close(other);
}

TEST(resume)
{
    check_resume(0);
    check_resume(3);
}

TEST(export)
{
    struct err err = {0};
    open_backend("cpu", 0);
    struct train_backend_answer goal = sample(backend, 5);
    train(backend, &goal);
    refresh(backend);
    const char *path = scratch_path("model");
    assert_ok(train_backend_export(backend, path, &err), &err);
    struct train_backend_options options = options_of("cpu", 0);
    struct train_backend *other = NULL;
    options.model = path;
    assert_ok(train_backend_open(&other, &options, &err), &err);
    struct train_backend_answer one = sample(backend, 6);
    struct train_backend_answer two = sample(other, 6);
    assert_true(is_same(&one, &two));
    train_backend_answer_deinit(&one);
    train_backend_answer_deinit(&two);
    train_backend_answer_deinit(&goal);
    train_backend_close(other);
}

TEST(refusals)
{
    struct train_backend *opened = NULL;
    char *where = NULL;
    open_backend("reference", 0);
    const char *directory = scratch_path("");
    struct train_backend_options options = options_of("reference", 0);
    options.model = "/nowhere";
    assert_int_equal(train_backend_open(&opened, &options, NULL), ERR_MISSING);
    options.tokenizer = directory;
    assert_int_equal(train_backend_open(&opened, &options, NULL), ERR_MISSING);
    assert_null(opened);
    static const char *const names[] = {"", "..", "a/b"};
    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(train_backend_save(backend, directory, names[i], &where, NULL), ERR_INPUT);
    static const char *const places[] = {"", "model", "checkpoints/../x", "/etc"};
    for (size_t i = 0; i < COUNT(places); i++)
        assert_int_equal(train_backend_forget(backend, directory, places[i], NULL), ERR_INPUT);
}

/* A checkpoint that is cut short: said with each call, until one is loaded that is whole. */
TEST(torn)
{
    struct err err = {0};
    char *whole = NULL, *torn = NULL;
    uint64_t version;
    open_backend("reference", 0);
    const char *directory = scratch_path("");
    assert_ok(train_backend_save(backend, directory, "whole", &whole, &err), &err);
    assert_ok(train_backend_save(backend, directory, "torn", &torn, &err), &err);
    char *path = mem_printf("%s/%s/model.safetensors", directory, torn);
    assert_ok(file_write_atomic(path, "x", 1, 0600, &err), &err);
    assert_true(train_backend_load(backend, directory, torn, true, 0, &err) < 0);
    assert_int_equal(train_backend_refresh(backend, &version, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "was loaded only in part"));
    double norm = NAN; /* that of gradients that are not finite, which is another matter */
    assert_int_equal(train_backend_step(backend, &lm_adam_defaults, &norm, &err), ERR_INPUT);
    assert_true(norm == 0);
    assert_ok(train_backend_load(backend, directory, whole, true, 0, &err), &err);
    assert_int_equal(refresh(backend), 0);
    mem_free(path);
    mem_free(whole);
    mem_free(torn);
}
