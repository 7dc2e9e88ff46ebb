/* The sampler's own thread: requests from many threads, cancelling, weights that change between
 * requests, and an end at any moment. */
#include "lm/sample/engine.h"

#include "../support/test.h"
#include "../support/tiny_model.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>

#define PROMPT 20
#define THREADS 6
#define ROUNDS 5

static struct tiny tiny;
static struct lm_engine *engine;
static int32_t prompt[PROMPT];

FIXTURE(begin)
{
    const struct lm_sampler_options options = {.sequences = 4,
                                               .rows = 16,
                                               .page = 4,
                                               .cache_tokens = 160};
    struct err err = {0};
    tiny_open(&tiny, "reference");
    assert_ok(lm_engine_open(&engine, tiny.model, &options, &err), &err);
    for (int i = 0; i < PROMPT; i++)
        prompt[i] = i;
    return 0;
}

FIXTURE(end)
{
    lm_engine_close(engine);
    engine = NULL;
    tiny_close(&tiny);
    return 0;
}

TEST_EACH(begin, end);

static struct lm_request request_of(size_t samples, uint64_t seed, size_t tokens)
{
    return (struct lm_request){
        .prompt = prompt,
        .prompt_count = PROMPT,
        .samples = samples,
        .sampling = {.temperature = 1,
                     .top_p = 1,
                     .seed = seed,
                     .max_tokens = tokens,
                     .ignore_model_stops = true},
    };
}

static void release(struct lm_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lm_sample_deinit(&samples[i]);
}

struct asker {
    pthread_t thread;
    uint64_t seed;
    struct lm_sample samples[ROUNDS][2];
    int result;
};

static void *ask(void *argument)
{
    struct asker *asker = argument;
    for (uint64_t i = 0; i < ROUNDS && asker->result == 0; i++) {
        struct lm_request request = request_of(2, asker->seed + 10 * i, 12);
        asker->result = lm_engine_run(engine, &request, asker->samples[i], NULL, NULL);
    }
    return NULL;
}

TEST(many_threads)
{
    struct asker askers[THREADS] = {0};
    struct lm_sample alone[2];
    for (size_t i = 0; i < THREADS; i++) {
        askers[i].seed = 1000 * i;
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(askers[i].thread, NULL);
    for (size_t i = 0; i < THREADS; i++)
        for (uint64_t n = 0; n < ROUNDS; n++) {
            struct lm_request request = request_of(2, askers[i].seed + 10 * n, 12);
            assert_int_equal(askers[i].result, 0);
            assert_int_equal(lm_engine_run(engine, &request, alone, NULL, NULL), 0);
            for (int s = 0; s < 2; s++) {
                assert_int_equal(alone[s].count, 12);
                tiny_assert_same(&alone[s], &askers[i].samples[n][s], "in a crowd");
            }
            release(alone, 2);
            release(askers[i].samples[n], 2);
        }
    struct lm_sampler_stats stats;
    do /* the last events come a little before the figures */
        stats = lm_engine_stats(engine);
    while (stats.running > 0);
    assert_int_equal(stats.requests, 2 * THREADS * ROUNDS);
    assert_int_equal(stats.tokens, 2 * 2 * 12 * THREADS * ROUNDS);
    assert_int_equal(stats.pages_free, stats.pages);
}

static void scored(void *context, const float *logprobs, const struct lm_top *top)
{
    float *out = context;
    assert_non_null(top);
    memcpy(out, logprobs, PROMPT * sizeof *out);
}

TEST(what_a_run_brings)
{
    struct lm_sample sample;
    struct err err = {0};
    float logprobs[PROMPT] = {0};
    struct lm_request request = request_of(1, 3, 4);
    request.sampling.top_logprobs = 2;
    request.sampling.prompt_logprobs = true;
    request.scored = scored;
    request.context = logprobs;
    assert_int_equal(lm_engine_run(engine, &request, &sample, NULL, &err), 0);
    assert_int_equal(sample.finish, LM_LENGTH);
    for (size_t i = 0; i < 4; i++)
        assert_true(sample.top[2 * i].logprob >= sample.logprobs[i] && sample.logprobs[i] < 0);
    assert_true(isnan(logprobs[0]) && logprobs[PROMPT - 1] < 0);
    lm_sample_deinit(&sample);
    /* Refused at once, on the caller's thread. */
    request.sampling.max_tokens = 1000;
    assert_int_equal(lm_engine_run(engine, &request, &sample, NULL, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "model's positions"));
    lm_sample_deinit(&sample);
}

TEST(stop)
{
    struct lm_sample samples[3];
    _Atomic int stop = 1;
    struct lm_request request = request_of(3, 3, 70);
    assert_int_equal(lm_engine_run(engine, &request, samples, &stop, NULL), ERR_CANCELLED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(samples[i].finish, LM_CANCELLED);
    release(samples, 3);
    stop = 0;
    assert_int_equal(lm_engine_run(engine, &request, samples, &stop, NULL), 0);
    release(samples, 3);
}

TEST(no_numbers)
{
    struct lm_sample sample;
    const float nan = NAN;
    struct err err = {0};
    tiny.backend->upload(tiny.backend, tiny.model->final_norm->value, &nan, sizeof nan);
    struct lm_request request = request_of(1, 3, 5);
    assert_int_equal(lm_engine_run(engine, &request, &sample, NULL, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "NaN"));
    lm_sample_deinit(&sample);
}

/* What the callbacks count. */
struct counts {
    _Atomic size_t tokens, ended, cancelled;
};

static void count_event(void *context, size_t index, const struct lm_sample *sample)
{
    struct counts *counts = context;
    counts->tokens += sample->finish != LM_CANCELLED;
    counts->ended += sample->finish != LM_RUNNING;
    counts->cancelled += sample->finish == LM_CANCELLED;
}

struct weights {
    struct tiny *tiny;
    struct counts *counts;
    size_t ended, tokens; /* when they were changed */
    uint64_t seed;
};

static int change(void *context, struct err *err)
{
    struct weights *weights = context;
    weights->ended = weights->counts->ended;
    weights->tokens = weights->counts->tokens;
    tiny_change(weights->tiny, weights->seed);
    return 0;
}

static int refuse(void *context, struct err *err)
{
    return err_set(err, ERR_MISSING, "no such checkpoint");
}

static void wait_until(const _Atomic size_t *value, size_t wanted)
{
    while (*value < wanted)
        sched_yield();
}

TEST(change)
{
    struct counts counts = {0};
    struct lm_sample before, after, again;
    struct err err = {0};
    uint64_t id;
    struct lm_request request = request_of(1, 3, 10);
    assert_int_equal(lm_engine_run(engine, &request, &before, NULL, &err), 0);
    struct lm_request running = request_of(4, 8, 60);
    running.on_event = count_event;
    running.context = &counts;
    assert_int_equal(lm_engine_submit(engine, &running, &id, &err), 0);
    wait_until(&counts.tokens, 1);
    struct weights weights = {.tiny = &tiny, .counts = &counts, .seed = 2};
    assert_int_equal(lm_engine_change(engine, change, &weights, &err), 0);
    /* What ran has ended with the weights that it began with. */
    assert_int_equal(weights.ended, 4);
    assert_int_equal(weights.tokens, 4 * 60);
    uint64_t shared = lm_engine_stats(engine).shared_tokens;
    assert_int_equal(lm_engine_run(engine, &request, &after, NULL, &err), 0);
    assert_memory_not_equal(before.tokens, after.tokens, 10 * sizeof(int32_t));
    weights.seed = 1;
    assert_int_equal(lm_engine_change(engine, change, &weights, &err), 0);
    assert_int_equal(lm_engine_stats(engine).shared_tokens, shared);
    assert_int_equal(lm_engine_run(engine, &request, &again, NULL, &err), 0);
    tiny_assert_same(&before, &again, "weights changed and changed back");
    assert_int_equal(lm_engine_change(engine, refuse, NULL, &err), ERR_MISSING);
    assert_string_equal(err.text, "no such checkpoint");
    release(&before, 1);
    release(&after, 1);
    release(&again, 1);
}

struct changer {
    struct weights weights;
    pthread_t thread;
    int result;
};

static void *change_weights(void *argument)
{
    struct changer *changer = argument;
    changer->result = lm_engine_change(engine, change, &changer->weights, NULL);
    return NULL;
}

/* One that waits for the change can be cancelled, and those that came meanwhile run after it. */
TEST(cancel_while_a_change_waits)
{
    struct counts first = {0}, second = {0}, third = {0};
    uint64_t id[3];
    struct counts *counts[] = {&first, &second, &third};
    struct lm_request request = request_of(1, 8, 70);
    request.on_event = count_event;
    request.context = counts[0];
    assert_int_equal(lm_engine_submit(engine, &request, &id[0], NULL), 0);
    struct changer changer = {.weights = {.tiny = &tiny, .counts = &first, .seed = 2}};
    assert_int_equal(pthread_create(&changer.thread, NULL, change_weights, &changer), 0);
    for (size_t i = 1; i < 3; i++) {
        request.context = counts[i];
        assert_int_equal(lm_engine_submit(engine, &request, &id[i], NULL), 0);
    }
    lm_engine_cancel(engine, id[1]);
    pthread_join(changer.thread, NULL);
    assert_int_equal(changer.result, 0);
    assert_int_equal(changer.weights.tokens % 70, 0);
    wait_until(&second.ended, 1);
    wait_until(&third.ended, 1);
    assert_int_equal(first.tokens, 70);
    assert_int_equal(third.tokens, 70);
    assert_int_equal(third.cancelled, 0);
}

/* Everything that was submitted hears of its end. */
TEST(close)
{
    for (size_t waited = 0; waited < 3; waited++) {
        struct counts counts = {0};
        uint64_t id;
        struct lm_request request = request_of(5, 8, 70);
        request.on_event = count_event;
        request.context = &counts;
        for (int i = 0; i < 3; i++)
            assert_int_equal(lm_engine_submit(engine, &request, &id, NULL), 0);
        wait_until(&counts.tokens, 40 * waited);
        end(state);
        assert_int_equal(counts.ended, 15);
        begin(state);
    }
    lm_engine_close(NULL);
}
