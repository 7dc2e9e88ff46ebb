#include "tiny_lm.h"

#include "base/mem.h"
#include "base/random.h"
#include "small_model.h"
#include "test.h"

struct lm_config tiny_lm_config(size_t vocab)
{
    struct lm_config config = small_config();
    config.vocab = vocab;
    config.init_range = 0.2F;
    return config;
}

void tiny_lm_write(const char *directory, size_t vocab, size_t positions)
{
    struct lm_config config = tiny_lm_config(vocab);
    struct lm_backend *backend = small_backend("reference");
    struct err err = {0};
    config.positions = positions;
    struct lm_model *model = small_seeded(backend, &config, LM_FROZEN, 0, 1);
    assert_ok(lm_model_save(model, directory, LM_F32, false, &err), &err);
    lm_model_close(model);
    lm_backend_close(backend);
}

void tiny_lm_open(struct tiny_lm *tiny, uint64_t seed, size_t rank, size_t batch_tokens)
{
    const struct lm_trainer_options trainer = {.batch_tokens = batch_tokens};
    const struct lm_config config = tiny_lm_config(TINY_VOCAB);
    struct err err = {0};
    tiny->backend = small_backend("reference");
    tiny->model = small_seeded(tiny->backend, &config, rank > 0 ? LM_TRAIN_ADAPTER : LM_TRAIN_ALL,
                               rank, seed);
    assert_ok(lm_trainer_open(&tiny->trainer, tiny->model, &trainer, &err), &err);
}

void tiny_lm_close(struct tiny_lm *tiny)
{
    lm_trainer_close(tiny->trainer);
    lm_model_close(tiny->model);
    lm_backend_close(tiny->backend);
}

float *tiny_lm_values(const struct tiny_lm *tiny, bool gradients, size_t *count)
{
    *count = lm_model_trained(tiny->model);
    return small_trained(tiny->model, gradients);
}

void tiny_lm_assert_same(const struct tiny_lm *a, const struct tiny_lm *b, bool gradients)
{
    size_t count, other;
    float *left = tiny_lm_values(a, gradients, &count);
    float *right = tiny_lm_values(b, gradients, &other);
    assert_int_equal(count, other);
    assert_memory_equal(left, right, count * sizeof *left);
    mem_free(left);
    mem_free(right);
}

static float part(uint64_t *state)
{
    return (float)(random_next(state) >> 40) / (float)(1 << 24);
}

struct lm_datum tiny_datum(uint64_t seed, size_t count, size_t targets_per_row)
{
    size_t cells = count * targets_per_row;
    int32_t *tokens = mem_alloc(count * sizeof *tokens);
    int32_t *targets = mem_alloc(cells * sizeof *targets);
    float *weights = mem_alloc(cells * sizeof *weights);
    float *sampled = mem_alloc(count * sizeof *sampled);
    float *advantages = mem_alloc(count * sizeof *advantages);
    for (size_t i = 0; i < count; i++) {
        tokens[i] = (int32_t)(random_next(&seed) % TINY_VOCAB);
        sampled[i] = -3 - 2 * part(&seed);
        advantages[i] = i == 0 ? 0 : 2 * part(&seed) - 1;
    }
    for (size_t i = 0; i < cells; i++) {
        targets[i] = (int32_t)(random_next(&seed) % TINY_VOCAB);
        weights[i] = i % 3 == 0 ? 0 : part(&seed);
    }
    return (struct lm_datum){.count = count,
                             .tokens = tokens,
                             .targets_per_row = targets_per_row,
                             .targets = targets,
                             .weights = weights,
                             .sampled = sampled,
                             .advantages = advantages,
                             .logprob = mem_alloc(cells * sizeof(float)),
                             .entropy = mem_alloc(count * sizeof(float))};
}

void tiny_datum_free(struct lm_datum *datum)
{
    mem_free((int32_t *)datum->tokens);
    mem_free((int32_t *)datum->targets);
    mem_free((float *)datum->weights);
    mem_free((float *)datum->sampled);
    mem_free((float *)datum->advantages);
    mem_free(datum->logprob);
    mem_free(datum->entropy);
}

void tiny_lm_step(struct tiny_lm *tiny, uint64_t seed, struct loss_sums *sums, double *norm)
{
    const struct lm_adam adam = {
        .rate = 0.01, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = 0.1, .clip = 1};
    struct lm_datum datums[3];
    struct err err = {0};
    for (size_t i = 0; i < 3; i++)
        datums[i] = tiny_datum(3 * seed + i, 5 + i, 1);
    assert_ok(lm_trainer_forward_backward(tiny->trainer, datums, 3, loss_find("ppo"), NULL, sums,
                                          &err),
              &err);
    assert_ok(lm_trainer_step(tiny->trainer, &adam, norm, &err), &err);
    for (size_t i = 0; i < 3; i++)
        tiny_datum_free(&datums[i]);
}
