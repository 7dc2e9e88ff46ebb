#include "tiny_model.h"

#include "base/mem.h"
#include "small_model.h"
#include "test.h"

void tiny_open(struct tiny *tiny, const char *backend)
{
    struct lm_config config = small_config();
    config.vocab = TINY_VOCAB;
    config.positions = TINY_POSITIONS;
    config.init_range = 0.5F;
    config.tied = true;
    config.stop_tokens[0] = 3;
    config.stop_count = 1;
    tiny->backend = small_backend(backend);
    tiny->model = small_seeded(tiny->backend, &config, LM_FROZEN, 0, 1);
}

void tiny_close(struct tiny *tiny)
{
    lm_model_close(tiny->model);
    lm_backend_close(tiny->backend);
}

void tiny_change(struct tiny *tiny, uint64_t seed)
{
    struct lm_model *other = small_seeded(tiny->backend, &tiny->model->config, LM_FROZEN, 0, seed);
    for (size_t i = 0; i < other->parameter_count; i++) {
        const struct lm_parameter *from = &other->parameters[i];
        tiny->backend->copy(tiny->backend, tiny->model->parameters[i].value, from->value,
                            from->rows * from->columns * sizeof(float));
    }
    tiny->model->version++;
    lm_model_close(other);
}

void tiny_sampled(void *context, size_t index, const struct lm_sample *sample)
{
    struct tiny_answer *answer = context;
    answer->events[index]++;
    if (sample->finish == LM_RUNNING) {
        assert_int_equal(answer->events[index], sample->count);
        return;
    }
    struct lm_sample *kept = &answer->samples[index];
    assert_int_equal(kept->finish, LM_RUNNING);
    *kept = *sample;
    kept->tokens = mem_copy(sample->tokens, sample->count * sizeof *sample->tokens);
    kept->logprobs = mem_copy(sample->logprobs, sample->count * sizeof *sample->logprobs);
    kept->top = NULL;
    answer->ended++;
}

void tiny_scored(void *context, const float *logprobs, const struct lm_top *top)
{
    struct tiny_answer *answer = context;
    for (size_t i = 0; i < TINY_SAMPLES; i++)
        assert_int_equal(answer->events[i], 0);
    answer->scored++;
    memcpy(answer->prompt_logprobs, logprobs, answer->prompt_count * sizeof *logprobs);
    if (top)
        memcpy(answer->prompt_top, top, answer->prompt_count * answer->top_count * sizeof *top);
}

void tiny_answer_deinit(struct tiny_answer *answer)
{
    for (size_t i = 0; i < TINY_SAMPLES; i++) {
        mem_free(answer->samples[i].tokens);
        mem_free(answer->samples[i].logprobs);
    }
    *answer = (struct tiny_answer){0};
}

void tiny_assert_same(const struct lm_sample *a, const struct lm_sample *b, const char *what)
{
    if (a->count != b->count || a->finish != b->finish)
        fail_msg("%s: %zu tokens (%d), and %zu (%d)", what, a->count, (int)a->finish, b->count,
                 (int)b->finish);
    for (size_t i = 0; i < a->count; i++)
        if (a->tokens[i] != b->tokens[i] || a->logprobs[i] != b->logprobs[i])
            fail_msg("%s: token %zu is %d (%.9g), and %d (%.9g)", what, i, a->tokens[i],
                     (double)a->logprobs[i], b->tokens[i], (double)b->logprobs[i]);
}
