/* Models and passes on the reference backend: gradients against differences, recomputation, packed
 * sequences, blocks of the head, adapters, and the way to disk and back. */
#include "lm/model/pass.h"

#include "base/mem.h"
#include "lm/model/build.h"
#include "lm/model/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 13
#define SEQUENCES 3
#define VOCAB 29
#define ALL_TARGETS ((1U << LM_LORA_TARGET_COUNT) - 1)

static const int32_t tokens[ROWS] = {3, 14, 15, 9, 26, 5, 28, 0, 7, 7, 9, 1, 2};
static const int32_t starts[SEQUENCES + 1] = {0, 5, 6, ROWS};
/* Two targets for each row, of which the second has no weight where one is asked for. */
static const int32_t targets[ROWS * 2] = {14, 1,  15, 2, 9, 9, 26, 28, 5, 0, 28, 3,  0,
                                          4,  28, 5,  7, 6, 9, 9,  1,  8, 2, 9,  11, 10};
static const struct lm_batch batch = {.rows = ROWS,
                                      .sequences = SEQUENCES,
                                      .tokens = tokens,
                                      .starts = starts};

static struct lm_config small(void)
{
    return (struct lm_config){
        .family = LM_QWEN3,
        .vocab = VOCAB,
        .width = 12,
        .inner = 20,
        .layers = 3,
        .heads = 4,
        .kv_heads = 2,
        .head_width = 6,
        .positions = 32,
        .norm_epsilon = 1e-5F,
        .init_range = 0.3F,
        .rope = {.kind = LM_ROPE_DEFAULT, .theta = 10000, .truncate = true},
        .qk_norm = true,
        .begin_token = -1,
        .pad_token = -1,
    };
}

static struct lm_backend *open_backend(void)
{
    struct lm_backend *backend;
    struct err err;
    if (lm_backend_open(&backend, "reference", 1, &err) < 0)
        fail_msg("%s", err.text);
    return backend;
}

static struct lm_model *fresh(struct lm_backend *backend, const struct lm_config *config,
                              enum lm_training training, size_t rank)
{
    struct lm_model_options options = {
        .training = training,
        .seed = 7,
        .lora = {.rank = rank, .alpha = 6, .targets = rank > 0 ? ALL_TARGETS : 0},
    };
    struct lm_model *model;
    struct err err;
    if (lm_model_fresh(&model, config, backend, &options, &err) < 0)
        fail_msg("%s", err.text);
    return model;
}

static float *values_of(const struct lm_model *model, const struct lm_parameter *p, bool gradient)
{
    float *values = mem_alloc(p->rows * p->columns * sizeof *values);
    lm_value_get(model->backend, gradient ? p->gradient : p->value, 0, values,
                 p->rows * p->columns);
    return values;
}

/* Vectors and B begin as ones and zeros: at such places many a wrong gradient is right. */
static void disturb(struct lm_model *model)
{
    for (size_t i = 0; i < model->parameter_count; i++) {
        struct lm_parameter *p = &model->parameters[i];
        float *values = values_of(model, p, false);
        for (size_t at = 0; at < p->rows * p->columns; at++)
            values[at] += 0.2F * sinf((float)(3 * at + 5 * i + 1));
        lm_value_put(model->backend, p->value, 0, values, p->rows * p->columns);
        mem_free(values);
    }
}

/* loss = Σ weight · logprob + Σ weight · entropy, with weights that follow from the row. */
struct losing {
    double loss;
    float logprob[ROWS * 2], entropy[ROWS];
    size_t blocks;
};

static void lose(void *context, const struct lm_head_block *block)
{
    struct losing *losing = context;
    size_t per_row = block->targets_per_row;
    losing->blocks++;
    for (size_t i = 0; i < block->rows * per_row; i++) {
        size_t at = block->first * per_row + i;
        float weight = at / per_row == 4 ? 0 : cosf((float)at) / (float)(1 + at % per_row);
        losing->logprob[at] = block->logprob[i];
        losing->loss += (double)weight * (double)block->logprob[i];
        if (block->dlogprob)
            block->dlogprob[i] = weight;
    }
    for (size_t i = 0; i < block->rows && block->entropy; i++) {
        float weight = 0.3F * sinf((float)(block->first + i));
        losing->entropy[block->first + i] = block->entropy[i];
        losing->loss += (double)weight * (double)block->entropy[i];
        if (block->dentropy)
            block->dentropy[i] = weight;
    }
}

static struct lm_head head_of(struct losing *losing, size_t per_row)
{
    return (struct lm_head){.targets = targets,
                            .targets_per_row = per_row,
                            .temperature = 0.8F,
                            .entropy = true,
                            .loss = lose,
                            .context = losing};
}

static struct lm_pass *open_pass(struct lm_model *model, const struct lm_pass_options *options)
{
    struct lm_pass *pass;
    struct err err;
    if (lm_pass_open(&pass, model, options, &err) < 0)
        fail_msg("%s", err.text);
    return pass;
}

static struct losing train(struct lm_model *model, const struct lm_batch *on, size_t per_row,
                           bool recompute, size_t head_rows)
{
    struct lm_pass_options options = {.rows = ROWS + 3,
                                      .head_rows = head_rows,
                                      .backward = true,
                                      .recompute = recompute};
    struct lm_pass *pass = open_pass(model, &options);
    struct losing losing = {0};
    struct lm_head head = head_of(&losing, per_row);
    struct err err;
    if (lm_pass_train(pass, on, &head, &err) < 0)
        fail_msg("%s", err.text);
    lm_pass_close(pass);
    return losing;
}

static struct losing score(struct lm_pass *pass, size_t per_row)
{
    struct losing losing = {0};
    struct lm_head head = head_of(&losing, per_row);
    struct err err;
    if (lm_pass_score(pass, &batch, &head, &err) < 0)
        fail_msg("%s", err.text);
    return losing;
}

/* The loss with `parameter` moved by `step` along `direction`. */
static double loss_at(struct lm_pass *pass, struct lm_model *model, struct lm_parameter *parameter,
                      const float *values, const float *direction, double step)
{
    size_t count = parameter->rows * parameter->columns;
    float *moved = mem_alloc(count * sizeof *moved);
    for (size_t i = 0; i < count; i++)
        moved[i] = (float)((double)values[i] + step * (double)direction[i]);
    lm_value_put(model->backend, parameter->value, 0, moved, count);
    double loss = score(pass, 2).loss;
    lm_value_put(model->backend, parameter->value, 0, values, count);
    mem_free(moved);
    return loss;
}

/* Along one direction for each parameter, half the gradient's own and half any other: sign, size and
 * place all matter. */
static void check_parameter(struct lm_pass *pass, struct lm_model *model, size_t index)
{
    struct lm_parameter *p = &model->parameters[index];
    size_t count = p->rows * p->columns;
    float *values = values_of(model, p, false), *gradient = values_of(model, p, true);
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
    if (fabs(found - expected) > 2e-3 * norm * sqrt(size) + 1e-4)
        fail_msg("%s: gradient %.6g, difference %.6g", p->name, expected, found);
    mem_free(values);
    mem_free(gradient);
    mem_free(direction);
}

static const struct {
    const char *name;
    bool tied, bias, qk_norm;
    size_t kv_heads, rank;
} shapes[] = {
    {"qk-norm", false, false, true, 2, 0},
    {"tied, biases, all heads their own", true, true, false, 4, 0},
    {"one key head, adapter", false, true, true, 1, 3},
};

static struct lm_config config_of(size_t shape)
{
    struct lm_config config = small();
    config.tied = shapes[shape].tied;
    config.qkv_bias = config.output_bias = shapes[shape].bias;
    config.mlp_bias = shapes[shape].bias && !shapes[shape].qk_norm;
    config.qk_norm = shapes[shape].qk_norm;
    config.kv_heads = shapes[shape].kv_heads;
    config.family = shapes[shape].qk_norm ? LM_QWEN3 : LM_LLAMA;
    return config;
}

static void test_gradients(void **state)
{
    struct lm_backend *backend = open_backend();
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct lm_config config = config_of(i);
        struct lm_model *model = fresh(backend, &config, LM_TRAIN_ALL, shapes[i].rank);
        struct lm_pass_options options = {.rows = ROWS};
        struct lm_pass *pass = open_pass(model, &options);
        disturb(model);
        struct losing trained = train(model, &batch, 2, false, 0), scored = score(pass, 2);
        assert_memory_equal(&trained, &scored, sizeof trained);
        for (size_t p = 0; p < model->parameter_count; p++)
            check_parameter(pass, model, p);
        lm_pass_close(pass);
        lm_model_close(model);
    }
    lm_backend_close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
    };
    return cmocka_run_group_tests_name("lm model", tests, NULL, NULL);
}
