/* Passes on each backend: gradients against differences, recomputation, packed sequences,
 * blocks of the head, adapters, what is refused; and the backends among themselves. */
#include "lm/model/pass.h"

#include "../support/small_model.h"
#include "../support/test.h"
#include "base/mem.h"
#include "lm/model/value.h"

#include <math.h>
#include <stdio.h>

#define ROWS 13
#define SEQUENCES 3
#define PER_ROW 2 /* targets */

static const int32_t tokens[ROWS] = {3, 14, 15, 9, 26, 5, 28, 0, 7, 7, 9, 1, 2};
static const int32_t starts[SEQUENCES + 1] = {0, 5, 6, ROWS};
static const int32_t targets[ROWS * PER_ROW] = {14, 1,  15, 2, 9, 9, 26, 28, 5, 0, 28, 3,  0,
                                                4,  28, 5,  7, 6, 9, 9,  1,  8, 2, 9,  11, 10};
static const struct lm_batch batch = {.rows = ROWS,
                                      .sequences = SEQUENCES,
                                      .tokens = tokens,
                                      .starts = starts};

/* loss = Σ weight · logprob + Σ weight · entropy, with weights that follow from the row. */
struct losing {
    double loss;
    float logprob[ROWS * PER_ROW], entropy[ROWS];
    size_t blocks, offset; /* offset: of the batch's first row among all */
    bool silent;           /* weights are 0 */
};

static void lose(void *context, const struct lm_head_block *block)
{
    struct losing *losing = context;
    size_t first = losing->offset + block->first;
    losing->blocks++;
    for (size_t i = 0; i < block->rows * PER_ROW; i++) {
        size_t at = first * PER_ROW + i;
        float weight = at / PER_ROW == 4 || losing->silent ? 0 : cosf((float)at);
        losing->logprob[at] = block->logprob[i];
        losing->loss += (double)weight * (double)block->logprob[i];
        if (block->dlogprob)
            block->dlogprob[i] = weight;
    }
    for (size_t i = 0; i < block->rows; i++) {
        float weight = losing->silent ? 0 : 0.3F * sinf((float)(first + i));
        losing->entropy[first + i] = block->entropy[i];
        losing->loss += (double)weight * (double)block->entropy[i];
        if (block->dentropy)
            block->dentropy[i] = weight;
    }
}

static struct lm_head head_of(struct losing *losing)
{
    return (struct lm_head){.targets = targets + losing->offset * PER_ROW,
                            .targets_per_row = PER_ROW,
                            .temperature = 0.8F,
                            .entropy = true,
                            .loss = lose,
                            .context = losing};
}

static struct lm_pass *open_pass(struct lm_model *model, struct lm_pass_options options)
{
    struct lm_pass *pass;
    struct err err;
    assert_ok(lm_pass_open(&pass, model, &options, &err), &err);
    return pass;
}

static void run(struct lm_pass *pass, const struct lm_batch *on, struct losing *losing, bool train)
{
    struct lm_head head = head_of(losing);
    struct err err;
    assert_ok((train ? lm_pass_train : lm_pass_score)(pass, on, &head, &err), &err);
}

/* A pass of its own over the whole batch. */
static struct losing train(struct lm_model *model, bool recompute, size_t head_rows)
{
    struct losing losing = {0};
    struct lm_pass *pass = open_pass(model, (struct lm_pass_options){.rows = ROWS + 3,
                                                                     .head_rows = head_rows,
                                                                     .backward = true,
                                                                     .recompute = recompute});
    run(pass, &batch, &losing, true);
    lm_pass_close(pass);
    return losing;
}

/* |a - b| / |b| */
static double distance(const float *a, const float *b, size_t count)
{
    double apart = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        apart += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)b[i], 2);
    }
    assert_true(size > 0);
    return sqrt(apart / size);
}

/* Of rows that were computed in other company: matrices of other shapes are summed in another order
 * by all but the reference. */
static void assert_close(const struct lm_model *model, const float *a, const float *b, size_t count)
{
    bool exact = strcmp(model->backend->name, "reference") == 0;
    assert_true(distance(a, b, count) <= (exact ? 0 : 1e-5));
}

/* The loss with `parameter` moved by `step` along `direction`. */
static double loss_at(struct lm_pass *pass, struct lm_model *model, struct lm_parameter *parameter,
                      const float *values, const float *direction, double step)
{
    size_t count = parameter->rows * parameter->columns;
    float *moved = mem_alloc(count * sizeof *moved);
    struct losing losing = {0};
    for (size_t i = 0; i < count; i++)
        moved[i] = (float)((double)values[i] + step * (double)direction[i]);
    lm_value_put(model->backend, parameter->value, 0, moved, count);
    run(pass, &batch, &losing, false);
    lm_value_put(model->backend, parameter->value, 0, values, count);
    mem_free(moved);
    return losing.loss;
}

/* Along one direction for each parameter, half the gradient's own and half any other: sign, size
 * and place all matter. */
static void check_parameter(struct lm_pass *pass, struct lm_model *model, size_t index)
{
    struct lm_parameter *p = &model->parameters[index];
    size_t count = p->rows * p->columns;
    float *values = small_values(model, p), *gradient = small_gradients(model, p);
    float *direction = mem_alloc(count * sizeof *direction);
    double norm = 0, size = 0, expected = 0, h = 0.002;
    for (size_t i = 0; i < count; i++)
        norm += (double)gradient[i] * (double)gradient[i];
    norm = sqrt(norm);
    assert_true(norm > 1e-4);
    for (size_t i = 0; i < count; i++) {
        direction[i] = gradient[i] / (float)norm + sinf((float)(7 * i + 1)) / sqrtf((float)count);
        size += (double)direction[i] * (double)direction[i];
        expected += (double)direction[i] * (double)gradient[i];
    }
    double one = loss_at(pass, model, p, values, direction, h) -
                 loss_at(pass, model, p, values, direction, -h);
    double two = loss_at(pass, model, p, values, direction, 2 * h) -
                 loss_at(pass, model, p, values, direction, -2 * h);
    double found = (8 * one - two) / (12 * h);
    if (fabs(found - expected) > 1e-3 * norm * sqrt(size) + 1e-3)
        fail_msg("%s: gradient %.6g, difference %.6g", p->name, expected, found);
    mem_free(values);
    mem_free(gradient);
    mem_free(direction);
}

static const struct {
    bool tied, bias, qk_norm;
    size_t kv_heads, rank;
} shapes[] = {
    {false, false, true, 2, 0},
    {true, true, false, 4, 0},
    {false, true, true, 1, 3},
};

static struct lm_config config_of(size_t shape)
{
    struct lm_config config = small_config();
    config.tied = shapes[shape].tied;
    config.qkv_bias = config.output_bias = shapes[shape].bias;
    config.mlp_bias = shapes[shape].bias && !shapes[shape].qk_norm;
    config.qk_norm = shapes[shape].qk_norm;
    config.kv_heads = shapes[shape].kv_heads;
    config.family = shapes[shape].qk_norm ? LM_QWEN3 : LM_LLAMA;
    return config;
}

static const char *backend_name;

FIXTURE(begin)
{
    *state = small_backend(backend_name);
    return 0;
}

FIXTURE(end)
{
    lm_backend_close(*state);
    return 0;
}

TEST_GROUP(begin, end);

TEST(gradients)
{
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct lm_config config = config_of(i);
        struct lm_model *model = small_fresh(*state, &config, LM_TRAIN_ALL, shapes[i].rank);
        struct lm_pass *pass = open_pass(model, (struct lm_pass_options){.rows = ROWS});
        small_disturb(model);
        struct losing trained = train(model, false, 0), scored = {0};
        run(pass, &batch, &scored, false);
        assert_memory_equal(&trained, &scored, sizeof trained);
        for (size_t p = 0; p < model->parameter_count; p++)
            check_parameter(pass, model, p);
        lm_pass_close(pass);
        lm_model_close(model);
    }
}

TEST(recompute)
{
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct lm_config config = config_of(i);
        struct lm_model *model = small_fresh(*state, &config, LM_TRAIN_ALL, shapes[i].rank);
        size_t bytes = lm_model_trained(model) * sizeof(float);
        small_disturb(model);
        struct losing kept = train(model, false, 0);
        float *of_kept = small_trained(model, true);
        lm_model_zero_gradients(model);
        struct losing again = train(model, true, 0);
        float *of_again = small_trained(model, true);
        assert_memory_equal(&kept, &again, sizeof kept);
        assert_memory_equal(of_kept, of_again, bytes);
        mem_free(of_kept);
        mem_free(of_again);
        lm_model_close(model);
    }
}

/* Beside rounding by the C library: to so many bits behind the leading one. */
TEST(twin_rounded)
{
    struct lm_model *model = small_fresh(*state, NULL, LM_TRAIN_ALL, 0);
    struct lm_model *twin;
    struct err err;
    assert_int_equal(lm_model_twin(&twin, model, *state, &err), 0);
    for (unsigned bits = 1; bits <= LM_MANTISSA_BITS; bits++) {
        lm_model_twin_round(twin, bits);
        lm_model_twin_update(twin, model);
        for (size_t p = 0; p < model->parameter_count; p++) {
            const struct lm_parameter *parameter = &model->parameters[p];
            const float *exact = parameter->value, *rounded = twin->parameters[p].value;
            for (size_t i = 0; i < parameter->rows * parameter->columns; i++) {
                int exponent;
                float part = frexpf(exact[i], &exponent);
                float wanted = rintf(ldexpf(part, (int)bits + 1));
                assert_true(rounded[i] == ldexpf(wanted, exponent - (int)bits - 1));
            }
        }
    }
    lm_model_close(twin);
    lm_model_close(model);
}

/* An adapter on a base in memory computes what it computes in a model of its own, and others on the
 * same base do not see it change. */
TEST(attached)
{
    struct lm_model *whole = small_fresh(*state, NULL, LM_TRAIN_ADAPTER, 3);
    struct lm_model *base = small_fresh(*state, NULL, LM_FROZEN, 0), *one, *other;
    const struct lm_model_options trained = {.training = LM_TRAIN_ADAPTER,
                                             .lora = whole->lora,
                                             .seed = 7};
    const struct lm_model_options frozen = {.lora = whole->lora, .seed = 7};
    struct err err;
    assert_int_equal(lm_model_attach(&one, base, *state, &trained, &err), 0);
    assert_int_equal(lm_model_attach(&other, base, *state, &frozen, &err), 0);
    assert_ptr_equal(one->embedding->value, base->embedding->value);
    assert_null(other->gradients);
    struct losing expected = train(whole, false, 0), found = train(one, false, 0);
    float *of_whole = small_trained(whole, true), *of_one = small_trained(one, true);
    assert_memory_equal(&found, &expected, sizeof found);
    assert_int_equal(lm_model_trained(one), lm_model_trained(whole));
    assert_memory_equal(of_one, of_whole, lm_model_trained(whole) * sizeof(float));
    struct lm_parameter *b = one->layers[0].projections[LM_LORA_Q].b;
    const struct lm_parameter *same = other->layers[0].projections[LM_LORA_Q].b;
    const float moved = 1;
    lm_value_put(*state, b->value, 0, &moved, 1);
    assert_true(*(const float *)b->value == 1 && *(const float *)same->value == 0);
    mem_free(of_whole);
    mem_free(of_one);
    lm_model_close(other);
    lm_model_close(one);
    lm_model_close(base);
    lm_model_close(whole);
}

/* The head's own gradient is summed block by block: its last bit may differ. */
TEST(head_blocks)
{
    struct lm_model *model = small_fresh(*state, NULL, LM_TRAIN_ALL, 0);
    size_t count = lm_model_trained(model);
    struct losing whole = train(model, false, 0);
    float *of_whole = small_trained(model, true);
    assert_int_equal(whole.blocks, 1);
    for (size_t rows = 1; rows < ROWS; rows += 3) {
        lm_model_zero_gradients(model);
        struct losing parts = train(model, false, rows);
        float *of_parts = small_trained(model, true);
        assert_int_equal(parts.blocks, (ROWS + rows - 1) / rows);
        assert_close(model, parts.logprob, whole.logprob, ROWS * PER_ROW);
        assert_close(model, parts.entropy, whole.entropy, ROWS);
        assert_true(distance(of_parts, of_whole, count) < 1e-5);
        mem_free(of_parts);
    }
    mem_free(of_whole);
    lm_model_close(model);
}

/* A sequence does not see the others of its batch; gradients add up. */
TEST(packing)
{
    struct lm_model *model = small_fresh(*state, NULL, LM_TRAIN_ALL, 2);
    size_t count = lm_model_trained(model);
    small_disturb(model);
    struct losing packed = train(model, false, 0), alone = {0};
    float *of_packed = small_trained(model, true);
    struct lm_pass *pass = open_pass(model,
                                     (struct lm_pass_options){.rows = ROWS, .backward = true});
    lm_model_zero_gradients(model);
    for (size_t s = 0; s < SEQUENCES; s++) {
        const int32_t borders[] = {0, starts[s + 1] - starts[s]};
        struct lm_batch one = {.rows = (size_t)borders[1],
                               .sequences = 1,
                               .tokens = tokens + starts[s],
                               .starts = borders};
        alone.offset = (size_t)starts[s];
        run(pass, &one, &alone, true);
    }
    float *of_alone = small_trained(model, true);
    assert_close(model, packed.logprob, alone.logprob, ROWS * PER_ROW);
    assert_close(model, packed.entropy, alone.entropy, ROWS);
    assert_true(distance(of_alone, of_packed, count) < 1e-5);
    lm_pass_close(pass);
    mem_free(of_packed);
    mem_free(of_alone);
    lm_model_close(model);
}

/* The last token of one is seen by no other: the future stays unknown, and the neighbour too. */
TEST(causality)
{
    struct lm_model *model = small_fresh(*state, NULL, LM_FROZEN, 0);
    struct lm_pass *pass = open_pass(model, (struct lm_pass_options){.rows = ROWS});
    float before[ROWS * SMALL_VOCAB], after[ROWS * SMALL_VOCAB];
    int32_t changed[ROWS];
    struct lm_batch other = batch;
    struct err err;
    memcpy(changed, tokens, sizeof tokens);
    changed[3] = 20;
    other.tokens = changed;
    assert_ok(lm_pass_logits(pass, &batch, before, &err), &err);
    assert_ok(lm_pass_logits(pass, &other, after, &err), &err);
    for (size_t row = 0; row < ROWS; row++) {
        bool same = true;
        for (size_t i = row * SMALL_VOCAB; i < (row + 1) * SMALL_VOCAB; i++)
            same = same && before[i] == after[i];
        assert_true(same == (row != 3 && row != 4));
    }
    lm_pass_close(pass);
    lm_model_close(model);
}

/* Rows without a loss, a whole block of them, cost nothing and change nothing. */
TEST(silence)
{
    struct lm_model *model = small_fresh(*state, NULL, LM_TRAIN_ALL, 0);
    struct lm_pass *pass =
        open_pass(model, (struct lm_pass_options){.rows = ROWS, .head_rows = 2, .backward = true});
    struct losing silent = {.silent = true};
    run(pass, &batch, &silent, true);
    float *all = small_trained(model, true);
    for (size_t i = 0; i < lm_model_trained(model); i++)
        assert_true(all[i] == 0);
    mem_free(all);
    lm_pass_close(pass);
    lm_model_close(model);
}

TEST(frozen)
{
    struct lm_config config = small_config();
    struct lm_model *all = small_fresh(*state, &config, LM_TRAIN_ALL, 3);
    struct lm_model *adapter = small_fresh(*state, &config, LM_TRAIN_ADAPTER, 3);
    small_disturb(all);
    small_disturb(adapter);
    train(all, false, 0);
    train(adapter, false, 0);
    size_t found = 0;
    for (size_t i = 0; i < all->parameter_count; i++) {
        struct lm_parameter *p = &adapter->parameters[i];
        float *one = small_values(all, &all->parameters[i]), *other = small_values(adapter, p);
        assert_memory_equal(one, other, p->rows * p->columns * sizeof *one);
        assert_true(p->adapter == (p->gradient != NULL));
        mem_free(one);
        mem_free(other);
        if (!p->adapter)
            continue;
        one = small_gradients(all, &all->parameters[i]);
        other = small_gradients(adapter, p);
        assert_memory_equal(one, other, p->rows * p->columns * sizeof *one);
        found += p->rows * p->columns;
        mem_free(one);
        mem_free(other);
    }
    assert_int_equal(lm_model_trained(adapter), found);
    assert_int_equal(lm_model_count(adapter) - found, lm_config_parameters(&config));
    assert_int_equal(lm_model_trained(all), lm_model_count(all));
    lm_model_close(all);
    lm_model_close(adapter);
}

/* Room: a pass that keeps less takes less. */
TEST(bytes)
{
    struct lm_model *model = small_fresh(*state, NULL, LM_TRAIN_ALL, 0);
    struct lm_pass_options forward = {.rows = 1000}, recompute = forward, keep = forward;
    recompute.backward = recompute.recompute = keep.backward = true;
    uint64_t least = lm_pass_bytes(model, &forward), some = lm_pass_bytes(model, &recompute);
    assert_true(least < some && some < lm_pass_bytes(model, &keep));
    forward.rows *= 2;
    forward.head_rows = 1000; /* as many as before */
    assert_true(lm_pass_bytes(model, &forward) < 2 * least);
    lm_model_close(model);
}

static const struct {
    size_t rows, sequences;
    int32_t tokens[4], starts[4], target;
    float temperature;
    const char *error;
} refused[] = {
    {0, 0, {0}, {0}, 0, 1, "a batch of 0 tokens; this pass takes 1 to 33"},
    {34, 1, {0}, {0, 34}, 0, 1, "a batch of 34 tokens; this pass takes 1 to 33"},
    {33, 1, {0}, {0, 33}, 0, 1, "sequence 0 of a batch has 33 tokens; the model has 32 positions"},
    {3, 0, .tokens = {0}, .starts = {0}, 0, 1,
     "the sequences of a batch must begin at its first token and end at its last"},
    {3, 1, .tokens = {0}, .starts = {1, 3}, 0, 1,
     "the sequences of a batch must begin at its first token and end at its last"},
    {3, 1, .tokens = {0}, .starts = {0, 2}, 0, 1,
     "the sequences of a batch must begin at its first token and end at its last"},
    {3, 2, {0}, {0, 0, 3}, 0, 1, "sequence 0 of a batch is empty"},
    {3, 2, {0}, {0, -5, 3}, 0, 1, "sequence 0 of a batch is empty"},
    {3, 2, {0}, {0, 9, 3}, 0, 1, "sequence 0 of a batch is empty"},
    {3, 3, {0}, {0, 2, 2, 3}, 0, 1, "sequence 1 of a batch is empty"},
    {3, 1, {0, 29, 0}, {0, 3}, 0, 1, "row 1: token 29 is not in the vocabulary of 29"},
    {3, 1, {0, 0, -1}, {0, 3}, 0, 1, "row 2: token -1 is not in the vocabulary of 29"},
    {3, 1, {0}, {0, 3}, 29, 1, "row 0: target 29 is not in the vocabulary of 29"},
    {3, 1, {0}, {0, 3}, -100, 1, "row 0: target -100 is not in the vocabulary of 29"},
    {3, 1, {0}, {0, 3}, 0, 0, "a temperature of 0; it must be above 0"},
    {3, 1, {0}, {0, 3}, 0, NAN, "a temperature of nan; it must be above 0"},
};

TEST(refused)
{
    struct lm_model *model = small_fresh(*state, NULL, LM_FROZEN, 0);
    struct lm_pass *pass = open_pass(model, (struct lm_pass_options){.rows = 33});
    struct err err;
    for (size_t i = 0; i < COUNT(refused); i++) {
        int32_t all_tokens[34] = {0}, all_targets[34] = {refused[i].target};
        struct losing losing = {0};
        struct lm_head head = head_of(&losing);
        struct lm_batch on = {.rows = refused[i].rows,
                              .sequences = refused[i].sequences,
                              .tokens = all_tokens,
                              .starts = refused[i].starts};
        memcpy(all_tokens, refused[i].tokens, sizeof refused[i].tokens);
        head.targets = all_targets;
        head.targets_per_row = 1;
        head.temperature = refused[i].temperature;
        assert_int_equal(lm_pass_score(pass, &on, &head, &err), ERR_INPUT);
        assert_string_equal(err.text, refused[i].error);
        assert_int_equal(losing.blocks, 0);
    }
    lm_pass_close(pass);
    struct lm_pass_options options = {.rows = 0};
    assert_int_equal(lm_pass_open(&pass, model, &options, &err), ERR_INPUT);
    options = (struct lm_pass_options){.rows = 8, .backward = true};
    assert_int_equal(lm_pass_open(&pass, model, &options, &err), ERR_INPUT);
    assert_string_equal(err.text, "nothing of the model is trained: no gradients to compute");
    lm_model_close(model);
}

/* One model, one batch: what other backends find, held against the reference. */
TEST(backends_agree)
{
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct lm_backend *plain = small_backend("reference");
        struct lm_config config = config_of(i);
        struct lm_model *wanted = small_fresh(plain, &config, LM_TRAIN_ALL, shapes[i].rank);
        struct lm_model *found = small_fresh(*state, &config, LM_TRAIN_ALL, shapes[i].rank);
        small_disturb(wanted);
        small_disturb(found);
        struct losing by_plain = train(wanted, false, 0), by_other = train(found, false, 0);
        assert_true(distance(by_other.logprob, by_plain.logprob, ROWS * PER_ROW) < 1e-6);
        assert_true(distance(by_other.entropy, by_plain.entropy, ROWS) < 1e-6);
        for (size_t p = 0; p < wanted->parameter_count; p++) {
            const struct lm_parameter *parameter = &wanted->parameters[p];
            float *ours = small_gradients(found, &found->parameters[p]);
            float *theirs = small_gradients(wanted, parameter);
            double apart = distance(ours, theirs, parameter->rows * parameter->columns);
            if (apart > 1e-5)
                fail_msg("%s: %g apart", parameter->name, apart);
            mem_free(ours);
            mem_free(theirs);
        }
        lm_model_close(wanted);
        lm_model_close(found);
        lm_backend_close(plain);
    }
}

int main(void)
{
    backend_name = "reference";
    int failed = tests_run();
    backend_name = "cpu";
    return failed + tests_run();
}
