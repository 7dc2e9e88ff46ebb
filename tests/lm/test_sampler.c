/* The sampler on a tiny random model: which requests share what, which wait, how requests end,
 * and that a sample is the same whatever else runs. */
#include "lm/sample/sampler.h"

#include "../support/test.h"
#include "../support/tiny_model.h"
#include "base/random.h"
#include "lm/model/pass.h"
#include "lm/sample/sampler_internal.h"

#include <math.h>

#define PROMPT 30
#define STEPS 10000 /* more than any test needs */

static const struct lm_sampler_options roomy = {.sequences = 8,
                                                .rows = 64,
                                                .page = 4,
                                                .cache_tokens = 1024};

static struct tiny tiny;
static struct lm_sampler *sampler;
static int32_t prompt[TINY_POSITIONS];
static struct tiny_answer kept[16]; /* the answers of one test */
static size_t kept_count;

static void close_sampler(void)
{
    lm_sampler_close(sampler);
    tiny_close(&tiny);
}

static void open_sampler(const char *backend, const struct lm_sampler_options *options)
{
    struct err err = {0};
    tiny_open(&tiny, backend);
    assert_ok(lm_sampler_open(&sampler, tiny.model, options, &err), &err);
    for (size_t i = 0; i < TINY_POSITIONS; i++)
        prompt[i] = (int32_t)(i * i % TINY_VOCAB);
}

static void reopen(const char *backend, const struct lm_sampler_options *options)
{
    close_sampler();
    open_sampler(backend, options);
}

FIXTURE(begin)
{
    open_sampler("reference", &roomy);
    return 0;
}

FIXTURE(end)
{
    close_sampler();
    while (kept_count > 0)
        tiny_answer_deinit(&kept[--kept_count]);
    return 0;
}

TEST_EACH(begin, end);

static struct tiny_answer *fresh_answer(void)
{
    assert_true(kept_count < COUNT(kept));
    return &kept[kept_count++];
}

/* A request for `samples` samples of the prompt. */
static struct lm_request request_of(size_t prompt_count, size_t samples, struct tiny_answer *answer)
{
    return (struct lm_request){
        .prompt = prompt,
        .prompt_count = prompt_count,
        .samples = samples,
        .sampling = {.temperature = 1, .top_p = 1, .max_tokens = 20, .seed = 7},
        .on_event = tiny_sampled,
        .scored = tiny_scored,
        .context = answer,
    };
}

static uint64_t submit(const struct lm_request *request)
{
    struct err err = {0};
    uint64_t id = 0;
    assert_ok(lm_sampler_submit(sampler, request, &id, &err), &err);
    return id;
}

static bool step(void)
{
    struct err err = {0};
    bool busy = false;
    assert_ok(lm_sampler_step(sampler, &busy, &err), &err);
    assert_ok(pages_check(sampler_schedule(sampler)->pages, &err), &err);
    return busy;
}

static void finish(void)
{
    size_t steps = 0;
    while (step() && steps < STEPS)
        steps++;
    struct lm_sampler_stats stats = lm_sampler_stats(sampler);
    assert_true(steps < STEPS);
    assert_int_equal(stats.pages_free, stats.pages);
    assert_int_equal(stats.running + stats.waiting, 0);
}

static void run(const struct lm_request *request)
{
    submit(request);
    finish();
}

TEST(samples_share_their_prompt)
{
    struct tiny_answer *together = fresh_answer(), *alone[4];
    struct lm_request request = request_of(PROMPT, 4, together);
    run(&request);
    struct lm_sampler_stats stats = lm_sampler_stats(sampler);
    assert_int_equal(together->ended, 4);
    assert_int_equal(stats.prompt_tokens, 4 * PROMPT);
    assert_int_equal(stats.shared_tokens, 3 * PROMPT);
    /* Sample i is what a request with seed + i gives; its prompt is there but for the last page. */
    for (size_t i = 0; i < 4; i++) {
        alone[i] = fresh_answer();
        request = request_of(PROMPT, 1, alone[i]);
        request.sampling.seed += i;
        run(&request);
        tiny_assert_same(&together->samples[i], &alone[i]->samples[0], "alone");
        stats = lm_sampler_stats(sampler);
        assert_int_equal(stats.shared_tokens, 3 * PROMPT + (i + 1) * 28);
    }
    assert_true(alone[0]->samples[0].count != alone[1]->samples[0].count ||
                memcmp(alone[0]->samples[0].tokens, alone[1]->samples[0].tokens,
                       alone[0]->samples[0].count * sizeof(int32_t)) != 0);
}

/* More samples than places: the last ones find the prompt's full pages. */
TEST(more_samples_than_places)
{
    const struct lm_sampler_options narrow = {.sequences = 3,
                                              .rows = 5,
                                              .page = 4,
                                              .cache_tokens = 256};
    struct tiny_answer *few = fresh_answer(), *all = fresh_answer();
    reopen("reference", &narrow);
    struct lm_request request = request_of(PROMPT, 8, few);
    run(&request);
    /* Those that come later find seven pages, or begin together with one that does. */
    assert_in_range(lm_sampler_stats(sampler).shared_tokens, 2 * PROMPT + 5 * 28, 7 * PROMPT - 2);
    reopen("reference", &roomy);
    request.context = all;
    run(&request);
    for (size_t i = 0; i < 8; i++)
        tiny_assert_same(&few->samples[i], &all->samples[i], "in turn and together");
    assert_int_equal(lm_sampler_stats(sampler).shared_tokens, 7 * PROMPT);
}

/* A conversation: the next prompt holds the last answer, of which pages are there, too. */
TEST(conversation)
{
    struct tiny_answer *first = fresh_answer(), *second = fresh_answer(), *fresh = fresh_answer();
    struct lm_request request = request_of(10, 1, first);
    request.sampling.ignore_model_stops = true;
    run(&request);
    assert_int_equal(first->samples[0].count, 20);
    memcpy(prompt + 10, first->samples[0].tokens, 20 * sizeof(int32_t));
    request = request_of(33, 1, second);
    run(&request);
    /* The last token of an answer was never computed with: 29 positions, 7 pages. */
    assert_int_equal(lm_sampler_stats(sampler).shared_tokens, 28);
    assert_int_equal(lm_sampler_reset_cache(sampler, NULL), 0);
    request.context = fresh;
    run(&request);
    assert_int_equal(lm_sampler_stats(sampler).shared_tokens, 28);
    tiny_assert_same(&second->samples[0], &fresh->samples[0], "found and computed");
}

TEST(endings)
{
    struct tiny_answer *whole = fresh_answer(), *answer = fresh_answer();
    struct lm_request request = request_of(5, 1, whole);
    request.sampling.ignore_model_stops = true;
    request.sampling.max_tokens = 0;
    run(&request);
    assert_int_equal(whole->samples[0].finish, LM_LENGTH);
    assert_int_equal(whole->samples[0].count, TINY_POSITIONS - 5);
    assert_int_equal(whole->events[0], TINY_POSITIONS - 5);
    const int32_t *tokens = whole->samples[0].tokens;
    size_t last = 12, count = 1;
    while (tokens[count - 1] != tokens[last])
        count++;
    /* A stop token of the request, the model's own, and neither. */
    const struct {
        int32_t stop, model_stop;
        bool ignore;
        enum lm_finish finish;
        size_t count;
    } rows[] = {
        {tokens[last], -1, true, LM_STOP, count}, {-1, tokens[last], false, LM_STOP, count},
        {-1, tokens[last], true, LM_LENGTH, 20},  {tokens[last], -1, false, LM_STOP, count},
        {-1, -1, false, LM_LENGTH, 20},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        tiny.model->config.stop_tokens[0] = rows[i].model_stop;
        request = request_of(5, 1, answer);
        request.sampling.stop_tokens = &rows[i].stop;
        request.sampling.stop_token_count = 1;
        request.sampling.ignore_model_stops = rows[i].ignore;
        run(&request);
        assert_int_equal(answer->samples[0].finish, rows[i].finish);
        assert_int_equal(answer->samples[0].count, rows[i].count);
        assert_memory_equal(answer->samples[0].tokens, tokens, rows[i].count * sizeof *tokens);
        tiny_answer_deinit(answer);
    }
}

TEST(cancel)
{
    struct tiny_answer *answer = fresh_answer(), *other = fresh_answer(), *calm = fresh_answer();
    struct lm_request request = request_of(PROMPT, 3, answer);
    request.sampling.ignore_model_stops = true;
    uint64_t id = submit(&request);
    struct lm_request second = request_of(9, 1, other);
    submit(&second);
    for (int i = 0; i < 3; i++)
        assert_true(step());
    assert_int_equal(answer->events[0], 3);
    lm_sampler_cancel(sampler, id);
    lm_sampler_cancel(sampler, 999);
    assert_int_equal(answer->ended, 0);
    step();
    assert_int_equal(answer->ended, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(answer->samples[i].finish, LM_CANCELLED);
        assert_int_equal(answer->samples[i].count, 3);
    }
    finish();
    second.context = calm;
    run(&second);
    tiny_assert_same(&other->samples[0], &calm->samples[0], "beside one that was cancelled");
    /* Before its first step, too. */
    tiny_answer_deinit(answer);
    id = submit(&request);
    lm_sampler_cancel(sampler, id);
    assert_false(step());
    assert_int_equal(answer->ended, 3);
    assert_int_equal(answer->samples[0].count, 0);
}

struct refusal {
    const char *says;
    struct lm_request request;
    bool no_prompt;
};

TEST(refusals)
{
    static const int32_t outside[] = {1, TINY_VOCAB}, negative[] = {-1};
    static const char *const empty[] = {""};
    static const struct lm_sampling fine = {.temperature = 1, .top_p = 1, .max_tokens = 4};
#define WITH(...)                                                                                  \
    {                                                                                              \
        .temperature = 1, .top_p = 1, .max_tokens = 4, __VA_ARGS__                                 \
    }
    const struct refusal rows[] = {
        {"the prompt has no tokens", {.samples = 1, .sampling = fine}, true},
        {"outside the model's vocabulary",
         {.prompt = outside, .prompt_count = 2, .samples = 1, .sampling = fine},
         false},
        {"token 0 of the prompt is -1",
         {.prompt = negative, .prompt_count = 1, .samples = 1, .sampling = fine},
         false},
        {"0 samples", {.sampling = fine}, false},
        {"the sampler's cache holds 64",
         {.samples = 1, .sampling = {.temperature = 1, .top_p = 1, .max_tokens = 60}},
         false},
        {"temperature", {.samples = 1, .sampling = {.temperature = -1, .top_p = 1}}, false},
        {"temperature", {.samples = 1, .sampling = {.temperature = NAN, .top_p = 1}}, false},
        {"top_p", {.samples = 1, .sampling = {.temperature = 1, .top_p = 1.01}}, false},
        {"min_p", {.samples = 1, .sampling = WITH(.min_p = -.1)}, false},
        {"top_logprobs", {.samples = 1, .sampling = WITH(.top_logprobs = 21)}, false},
        {"stop strings need a tokenizer",
         {.samples = 1, .sampling = WITH(.stops = empty, .stop_count = 1)},
         false},
        {"at most 16 stop strings", {.samples = 1, .sampling = WITH(.stop_count = 17)}, false},
        {"stop string 1 has 0 bytes",
         {.samples = 1,
          .tokenizer = (struct tokenizer *)empty, /* never looked at */
          .sampling = WITH(.stops = empty, .stop_count = 1)},
         false},
    };
#undef WITH
    struct lm_sampler_options small = roomy;
    small.cache_tokens = 67; /* 16 pages of 4 */
    reopen("reference", &small);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lm_request request = rows[i].request;
        struct err err = {0};
        uint64_t id;
        if (!request.prompt && !rows[i].no_prompt) {
            request.prompt = prompt;
            request.prompt_count = 8;
        }
        int result = lm_sampler_submit(sampler, &request, &id, &err);
        assert_true(result == ERR_INPUT || result == ERR_LIMIT);
        if (!strstr(err.text, rows[i].says))
            fail_msg("not '%s' but '%s'", rows[i].says, err.text);
    }
    assert_int_equal(lm_sampler_stats(sampler).requests, 0);
}

TEST(bad_options)
{
    static const struct lm_sampler_options rows[] = {
        {.sequences = 0, .rows = 8, .cache_tokens = 64},
        {.sequences = 9, .rows = 8, .cache_tokens = 64},
        {.sequences = 4, .rows = 8, .cache_tokens = 15},
        {.sequences = 4, .rows = 8, .cache_tokens = 0},
        {.sequences = 4, .rows = 8, .page = 1 << 20, .cache_tokens = 1 << 20},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lm_sampler *refused = NULL;
        struct err err = {0};
        assert_int_equal(lm_sampler_open(&refused, tiny.model, &rows[i], &err), ERR_INPUT);
        assert_true(err.text[0] != '\0');
    }
}

TEST(new_weights)
{
    struct tiny_answer *before = fresh_answer(), *after = fresh_answer(), *fresh = fresh_answer();
    struct lm_request request = request_of(PROMPT, 1, before);
    request.sampling.ignore_model_stops = true;
    submit(&request);
    step();
    assert_int_equal(lm_sampler_reset_cache(sampler, NULL), ERR_INPUT);
    finish();
    tiny_change(&tiny, 2);
    request.context = after;
    run(&request);
    assert_int_equal(lm_sampler_stats(sampler).shared_tokens, 0);
    assert_memory_not_equal(before->samples[0].tokens, after->samples[0].tokens,
                            20 * sizeof(int32_t));
    struct lm_sampler *other = NULL;
    assert_int_equal(lm_sampler_open(&other, tiny.model, &roomy, NULL), 0);
    lm_sampler_close(sampler);
    sampler = other;
    request.context = fresh;
    run(&request);
    tiny_assert_same(&after->samples[0], &fresh->samples[0], "changed in place and opened with");
}

/* One that runs while weights change goes on, and its pages are not for others. */
TEST(weights_change_under_way)
{
    struct tiny_answer *mixed = fresh_answer(), *after = fresh_answer(), *fresh = fresh_answer();
    struct lm_request request = request_of(3, 1, mixed);
    request.sampling.ignore_model_stops = true;
    submit(&request);
    step(); /* its first page is not full yet */
    tiny_change(&tiny, 2);
    finish();
    assert_int_equal(mixed->samples[0].count, 20);
    memcpy(prompt + 3, mixed->samples[0].tokens, 20 * sizeof(int32_t));
    request = request_of(23, 1, after);
    run(&request);
    assert_int_equal(lm_sampler_stats(sampler).shared_tokens, 0);
    assert_int_equal(lm_sampler_reset_cache(sampler, NULL), 0);
    request.context = fresh;
    run(&request);
    tiny_assert_same(&after->samples[0], &fresh->samples[0], "after a change");
}

TEST(weights_that_are_no_numbers)
{
    struct tiny_answer *bad = fresh_answer(), *scored = fresh_answer(), *good = fresh_answer();
    const float nan = NAN;
    float before;
    struct lm_backend *backend = tiny.backend;
    void *value = tiny.model->final_norm->value;
    backend->download(backend, &before, value, sizeof before);
    backend->upload(backend, value, &nan, sizeof nan);
    struct lm_request request = request_of(PROMPT, 2, bad);
    run(&request);
    assert_int_equal(bad->ended, 2);
    assert_int_equal(bad->samples[0].finish, LM_FAILED);
    assert_int_equal(bad->samples[0].count, 0);
    request.sampling.prompt_logprobs = true;
    request.context = scored;
    run(&request);
    assert_int_equal(scored->samples[1].finish, LM_FAILED);
    assert_int_equal(scored->scored, 0);
    backend->upload(backend, value, &before, sizeof before);
    request = request_of(PROMPT, 2, good);
    run(&request);
    assert_true(good->samples[0].finish == LM_STOP || good->samples[0].finish == LM_LENGTH);
}

/* What was said of a token when it was sampled is said again of it in a prompt, whatever part of
 * that is cached and however its rows are cut into steps. */
TEST(prompt_logprobs)
{
    static const size_t rows[] = {8, 11, 64};
    struct tiny_answer *sampled = fresh_answer(), *scored = fresh_answer();
    struct lm_request request = request_of(PROMPT, 1, sampled);
    request.sampling.ignore_model_stops = true;
    run(&request);
    int32_t all[PROMPT + 20];
    memcpy(all, prompt, PROMPT * sizeof *all);
    memcpy(all + PROMPT, sampled->samples[0].tokens, 20 * sizeof *all);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lm_sampler_options options = roomy;
        options.rows = rows[i];
        reopen("reference", &options);
        for (int again = 0; again < 2; again++) {
            request = request_of(PROMPT + 20, 3, scored);
            request.prompt = all;
            request.sampling.prompt_logprobs = true;
            request.sampling.top_logprobs = 2;
            request.sampling.max_tokens = 1;
            scored->prompt_count = PROMPT + 20;
            scored->top_count = 2;
            run(&request);
            assert_int_equal(scored->scored, 1);
            assert_int_equal(scored->ended, 3);
            assert_true(isnan(scored->prompt_logprobs[0]));
            assert_int_equal(scored->prompt_top[0].id, -1);
            for (size_t t = 0; t < 20; t++) {
                const float p = scored->prompt_logprobs[PROMPT + t];
                const struct lm_top *top = &scored->prompt_top[2 * (PROMPT + t)];
                assert_true(fabsf(p - sampled->samples[0].logprobs[t]) < 1e-6f);
                assert_true(top[0].logprob >= top[1].logprob && top[0].logprob >= p);
                assert_true(top[0].id != all[PROMPT + t] || top[0].logprob == p);
            }
            tiny_answer_deinit(scored);
        }
    }
}

struct scores {
    float logprobs[TINY_POSITIONS];
};

static void keep_scores(void *context, const struct lm_head_block *block)
{
    struct scores *scores = context;
    memcpy(scores->logprobs + block->first, block->logprob, block->rows * sizeof(float));
}

/* Scores the prompt and what was sampled behind it as the trainer does; the largest difference. */
static float apart(size_t prompt_count, const struct lm_sample *sample)
{
    const size_t rows = prompt_count + sample->count - 1;
    const int32_t starts[] = {0, (int32_t)rows};
    const struct lm_pass_options options = {.rows = TINY_POSITIONS};
    int32_t tokens[TINY_POSITIONS + 1];
    struct lm_pass *pass = NULL;
    struct scores scores;
    struct err err = {0};
    float most = 0;
    memcpy(tokens, prompt, prompt_count * sizeof *tokens);
    memcpy(tokens + prompt_count, sample->tokens, sample->count * sizeof *tokens);
    const struct lm_batch batch = {.rows = rows,
                                   .sequences = 1,
                                   .tokens = tokens,
                                   .starts = starts};
    const struct lm_head head = {.targets = tokens + 1,
                                 .targets_per_row = 1,
                                 .temperature = 1,
                                 .loss = keep_scores,
                                 .context = &scores};
    assert_ok(lm_pass_open(&pass, tiny.model, &options, &err), &err);
    assert_ok(lm_pass_score(pass, &batch, &head, &err), &err);
    for (size_t i = 0; i < sample->count; i++)
        most = fmaxf(most, fabsf(scores.logprobs[prompt_count - 1 + i] - sample->logprobs[i]));
    lm_pass_close(pass);
    return most;
}

/* What the sampler says of its tokens is what the trainer says of them, to 1e-5: on both backends,
 * for short and long prompts, alone and together, with shared pages. */
TEST(as_the_trainer)
{
    static const char *const backends[] = {"reference", "cpu"};
    /* In which order the fast one adds depends on the processor: 1.17e-5 on an AMD EPYC. */
    static const float bounds[] = {1e-5f, 2e-5f};
    for (size_t b = 0; b < 2; b++) {
        struct tiny_answer *answers[3];
        reopen(backends[b], &roomy);
        for (size_t i = 0; i < 3; i++) {
            answers[i] = fresh_answer();
            struct lm_request request = request_of(1 + 19 * i, 4, answers[i]);
            request.sampling.ignore_model_stops = true;
            request.sampling.max_tokens = 40;
            submit(&request);
        }
        finish();
        for (size_t i = 0; i < 3; i++)
            for (size_t s = 0; s < 4; s++) {
                float most = apart(1 + 19 * i, &answers[i]->samples[s]);
                if (most > bounds[b])
                    fail_msg("%s: %g", backends[b], (double)most);
            }
    }
}

/* The fast backend may add in another order where more rows are computed at once: greedy tokens
 * stay, and log-probabilities to 1e-5. */
TEST(ragged_on_cpu)
{
    static const size_t lengths[] = {1, 3, 17, 40, 2, 33, 16, 8};
    struct tiny_answer *answers[2][8];
    for (size_t pass = 0; pass < 2; pass++) {
        reopen("cpu", &roomy);
        for (size_t i = 0; i < 8; i++) {
            answers[pass][i] = fresh_answer();
            struct lm_request request = request_of(lengths[i], 1, answers[pass][i]);
            request.prompt += i; /* none begins as another */
            request.sampling.temperature = 0;
            request.sampling.ignore_model_stops = true;
            request.sampling.max_tokens = 40;
            submit(&request);
            if (pass == 0)
                continue;
            finish();
            const struct lm_sample *a = &answers[0][i]->samples[0], *b = &answers[1][i]->samples[0];
            assert_int_equal(a->count, 40);
            assert_memory_equal(a->tokens, b->tokens, 40 * sizeof *a->tokens);
            for (size_t t = 0; t < 40; t++)
                assert_true(fabsf(a->logprobs[t] - b->logprobs[t]) < 1e-5f);
        }
        finish();
    }
}

#define KINDS 6
#define CROWD 40

/* Some prompts begin alike, lengths differ, all ways to sample occur. */
static struct lm_request kind_of(size_t kind, struct tiny_answer *answer)
{
    struct lm_request request = request_of(3 + 7 * kind, 1 + kind % 3, answer);
    request.prompt = prompt + (kind % 2 ? 0 : kind);
    request.sampling.max_tokens = 10 + 2 * kind;
    request.sampling.ignore_model_stops = kind % 3 == 0;
    request.sampling.top_k = kind == 2 ? 5 : 0;
    request.sampling.temperature = kind == 4 ? 0 : 1;
    request.sampling.prompt_logprobs = kind == 3;
    answer->prompt_count = kind == 3 ? request.prompt_count : 0;
    return request;
}

static void run_kinds_alone(struct tiny_answer *answers)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        reopen("reference", &roomy);
        struct lm_request request = kind_of(kind, &answers[kind]);
        run(&request);
    }
}

static void compare_all(const struct tiny_answer *answers, const size_t *kinds,
                        const bool *cancelled, const struct tiny_answer *alone)
{
    for (size_t i = 0; i < CROWD; i++) {
        const size_t samples = 1 + kinds[i] % 3;
        assert_int_equal(answers[i].ended, samples);
        for (size_t s = 0; s < samples; s++) {
            if (cancelled[i] && answers[i].samples[s].finish == LM_CANCELLED)
                continue;
            tiny_assert_same(&answers[i].samples[s], &alone[kinds[i]].samples[s], "in a crowd");
        }
    }
}

/* A cache that holds little more than the longest request: all wait, all finish, no request's
 * tokens change. Then the same with requests that come at any time and go away again. */
TEST(crowd)
{
    static struct tiny_answer answers[CROWD], alone[KINDS];
    struct lm_sampler_options tight = {.sequences = 5, .rows = 9, .page = 4, .cache_tokens = 64};
    size_t kinds[CROWD], most_waiting = 0, preempted = 0;
    uint64_t random = 5;
    run_kinds_alone(alone);
    for (int cancelling = 0; cancelling < 4; cancelling++) {
        bool cancelled[CROWD] = {false};
        uint64_t ids[CROWD] = {0};
        tight.cache_tokens = cancelling < 2 ? 64 : 128;
        reopen("reference", &tight);
        for (size_t i = 0; i < CROWD; i++) {
            kinds[i] = random_next(&random) % KINDS;
            struct lm_request request = kind_of(kinds[i], &answers[i]);
            ids[i] = submit(&request);
            for (size_t n = cancelling ? random_next(&random) % 8 : 0; n > 0; n--)
                step();
            size_t victim = random_next(&random) % CROWD;
            if (cancelling && victim <= i && victim % 4 == 0) {
                lm_sampler_cancel(sampler, ids[victim]);
                cancelled[victim] = true;
            }
            struct lm_sampler_stats stats = lm_sampler_stats(sampler);
            assert_true(stats.running <= tight.sequences);
            most_waiting = stats.waiting > most_waiting ? stats.waiting : most_waiting;
        }
        finish();
        preempted += sampler_schedule(sampler)->preempted;
        compare_all(answers, kinds, cancelled, alone);
        for (size_t i = 0; i < CROWD; i++)
            tiny_answer_deinit(&answers[i]);
    }
    assert_true(most_waiting >= CROWD / 2 && preempted > 20);
    for (size_t i = 0; i < KINDS; i++)
        tiny_answer_deinit(&alone[i]);
}
