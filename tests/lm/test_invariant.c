/* A sample to the last bit, whatever runs beside it: alone, among others, with a beginning that is
 * in the cache or not, its prompt computed in one piece or in several. On every backend, with
 * shapes that fill no vector. */
#include "lm/sample/sampler.h"

#include "../support/small_model.h"
#include "../support/tiny_model.h"

#include "../support/test.h"
#include "lm/cpu/loops.h"

#include <math.h>
#include <stdio.h>

#define VOCAB 301
#define PROMPT 45
#define TOKENS 12
#define CROWD_MAX 40
#define STEPS 10000 /* more than any test needs */

/* Odd sizes; with a width of 132 two threads share the head and the products of the MLP. */
static struct lm_config config_of(size_t width, size_t inner)
{
    struct lm_config config = small_config();
    config.vocab = VOCAB;
    config.width = width;
    config.inner = inner;
    config.layers = 2;
    config.heads = 6;
    config.head_width = 14;
    config.positions = TINY_POSITIONS;
    config.norm_epsilon = 1e-6F;
    config.init_range = 0.2F;
    return config;
}

struct company {
    const char *name;
    size_t rows;   /* of a step */
    size_t others; /* that are sampled beside it */
    size_t shared; /* tokens that their prompts begin with, as this one does */
    bool cached;   /* a request with these was there before */
};

static const struct company companies[] = {
    {"alone", 64, 0, 0, false},
    {"a prompt in pieces", 7, 0, 0, false},
    {"token by token", 1, 0, 0, false},
    {"five others", 64, 5, 0, false},
    {"five of its kind", 64, 5, 33, false},
    {"forty others", 64, 40, 0, false},
    {"forty of its kind", 300, 40, 33, false},
    {"after its kind", 64, 0, 33, true},
    {"among and after its kind", 48, 9, 33, true},
};

static void fill(int32_t *prompt, size_t seed, size_t shared)
{
    for (size_t i = 0; i < PROMPT; i++)
        prompt[i] = (int32_t)((i < shared ? i * i + 3 : (i + 7 * seed) * (i + seed) + seed) %
                              VOCAB);
}

static struct lm_request request_of(const int32_t *prompt, uint64_t seed, void *answer)
{
    return (struct lm_request){
        .prompt = prompt,
        .prompt_count = PROMPT,
        .samples = 1,
        .sampling = {.temperature = 1, .top_p = 1, .max_tokens = TOKENS, .seed = seed},
        .on_event = answer ? tiny_sampled : NULL,
        .context = answer,
    };
}

static void submit(struct lm_sampler *sampler, const struct lm_request *request)
{
    struct err err = {0};
    uint64_t id;
    assert_ok(lm_sampler_submit(sampler, request, &id, &err), &err);
}

static void finish(struct lm_sampler *sampler)
{
    struct err err = {0};
    bool busy = true;
    for (size_t i = 0; busy && i < STEPS; i++)
        assert_ok(lm_sampler_step(sampler, &busy, &err), &err);
    assert_false(busy);
}

static void sample(struct lm_model *model, const struct company *company,
                   struct tiny_answer *answer)
{
    const size_t places = company->rows < CROWD_MAX + 1 ? company->rows : CROWD_MAX + 1;
    const struct lm_sampler_options options = {.sequences = places,
                                               .rows = company->rows,
                                               .page = 4,
                                               .cache_tokens = 4096};
    struct lm_sampler *sampler = NULL;
    struct err err = {0};
    int32_t prompt[PROMPT];
    assert_ok(lm_sampler_open(&sampler, model, &options, &err), &err);
    for (size_t i = 0; i < company->others + company->cached; i++) {
        fill(prompt, i + 1, company->shared);
        struct lm_request other = request_of(prompt, i, NULL);
        other.sampling.max_tokens = 1 + 5 * i % TOKENS;
        submit(sampler, &other);
        if (company->cached && i == 0)
            finish(sampler);
    }
    fill(prompt, 0, 33);
    struct lm_request own = request_of(prompt, 9, answer);
    submit(sampler, &own);
    finish(sampler);
    assert_int_equal(lm_sampler_stats(sampler).shared_tokens > 0, company->cached);
    lm_sampler_close(sampler);
}

/* `inner` is the width of its MLP, `width` its own. */
static void check(const char *name, size_t threads, size_t rank, size_t width, size_t inner)
{
    const struct lm_config shape = config_of(width, inner);
    const struct lm_model_options options = {
        .lora = {.rank = rank, .alpha = 4, .targets = SMALL_TARGETS}, .seed = 5};
    struct tiny_answer alone = {0};
    struct lm_backend *backend = NULL;
    struct lm_model *model = NULL;
    struct err err = {0};
    assert_ok(lm_backend_open(&backend, name, threads, &err), &err);
    backend->invariant = true;
    assert_ok(lm_model_fresh(&model, &shape, backend, &options, &err), &err);
    small_disturb(model);
    sample(model, &companies[0], &alone);
    assert_int_equal(alone.samples[0].count, TOKENS);
    for (size_t i = 1; i < COUNT(companies); i++) {
        struct tiny_answer answer = {0};
        sample(model, &companies[i], &answer);
        tiny_assert_same(&alone.samples[0], &answer.samples[0], companies[i].name);
        tiny_answer_deinit(&answer);
    }
    tiny_answer_deinit(&alone);
    lm_model_close(model);
    lm_backend_close(backend);
}

/* The loop under it, in each instruction set: a row in a crowd of any size. */
TEST(rows_alike)
{
    enum { ROWS = 9, IN = 45, OUT = 7 };
    float x[ROWS * IN], weight[OUT * IN], all[ROWS * OUT], some[ROWS * OUT];
    for (size_t i = 0; i < ROWS * IN; i++)
        x[i] = sinf((float)(i * i % 97));
    for (size_t i = 0; i < OUT * IN; i++)
        weight[i] = cosf((float)(i * i % 89));
    for (size_t at = 0; lm_loops_at(at); at++) {
        const struct lm_loops *loops = lm_loops_at(at);
        loops->rows_alike(ROWS, IN, OUT, x, IN, weight, IN, all, OUT);
        for (size_t i = 0; i < ROWS * OUT; i++) {
            float expected = loops->dot(IN, x + i / OUT * IN, weight + i % OUT * IN);
            assert_true(fabsf(all[i] - expected) < 1e-4F);
        }
        for (size_t first = 0; first < ROWS; first++)
            for (size_t count = 1; first + count <= ROWS; count++) {
                loops->rows_alike(count, IN, OUT, x + first * IN, IN, weight, IN, some, OUT);
                assert_memory_equal(some, all + first * OUT, count * OUT * sizeof *some);
            }
    }
}

TEST(reference)
{
    check("reference", 1, 0, 22, 30);
}

TEST(cpu)
{
    check("cpu", 1, 0, 132, 301);
}

TEST(cpu_of_two_threads_with_an_adapter)
{
    check("cpu", 2, 3, 132, 301);
}
