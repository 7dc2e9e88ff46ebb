/* AdamW against torch.optim.AdamW (its numbers stand here), schedules, state saved and loaded. */
#include "lm/train/optimizer.h"

#include "../support/scratch.h"
#include "../support/test.h"

#include <math.h>
#include <stdio.h>

#define MATRIX 6
#define VECTOR 3
#define STEPS 5

/* A matrix, a vector, and one that is frozen between them; the model is no more than its list. */
struct small {
    struct lm_backend *backend;
    struct lm_parameter parameters[3];
    struct lm_model model;
    struct lm_optimizer *optimizer;
};

static void give(struct small *small, void **to, const float *values, size_t count)
{
    struct err err = {0};
    assert_ok(lm_backend_alloc(small->backend, count * sizeof *values, "a test", to, &err), &err);
    small->backend->upload(small->backend, *to, values, count * sizeof *values);
}

static void small_open(struct small *small)
{
    static const float matrix[MATRIX] = {0.5F, -1, 0.25F, 2, 0.125F, -0.75F};
    static const float vector[VECTOR] = {1, -0.5F, 0.0625F}, zeros[MATRIX + VECTOR];
    struct err err = {0};
    *small = (struct small){.parameters = {{.name = "matrix", .rows = 2, .columns = 3},
                                           {.name = "frozen", .rows = 1, .columns = 3},
                                           {.name = "v", .rows = 1, .columns = 3, .vector = true}}};
    assert_ok(lm_backend_open(&small->backend, "reference", 1, &err), &err);
    small->model = (struct lm_model){.backend = small->backend,
                                     .parameters = small->parameters,
                                     .parameter_count = 3,
                                     .gradient_bytes = sizeof zeros};
    give(small, &small->parameters[0].value, matrix, MATRIX);
    give(small, &small->parameters[1].value, vector, VECTOR);
    give(small, &small->parameters[2].value, vector, VECTOR);
    give(small, &small->model.gradients, zeros, MATRIX + VECTOR);
    small->parameters[0].gradient = small->model.gradients;
    small->parameters[2].gradient = (float *)small->model.gradients + MATRIX;
    assert_ok(lm_optimizer_open(&small->optimizer, &small->model, &err), &err);
}

static void small_close(struct small *small)
{
    lm_optimizer_close(small->optimizer);
    for (int i = 0; i < 3; i++)
        small->backend->free(small->backend, small->parameters[i].value);
    small->backend->free(small->backend, small->model.gradients);
    lm_backend_close(small->backend);
}

static void set_gradients(struct small *small, int t)
{
    float step = (float)t;
    const float matrix[MATRIX] = {
        0.1F * (step + 1), -0.2F, t % 2 == 0 ? 0.3F : -0.3F, 0, 0.05F * step, -0.4F + 0.1F * step};
    const float vector[VECTOR] = {0.02F * (step - 2), 0.5F, -0.01F};
    struct lm_backend *backend = small->backend;
    backend->upload(backend, small->parameters[0].gradient, matrix, sizeof matrix);
    backend->upload(backend, small->parameters[2].gradient, vector, sizeof vector);
}

static void values_of(const struct small *small, float values[MATRIX + VECTOR])
{
    struct lm_backend *backend = small->backend;
    backend->download(backend, values, small->parameters[0].value, MATRIX * sizeof *values);
    backend->download(backend, values + MATRIX, small->parameters[2].value,
                      VECTOR * sizeof *values);
}

static const double rates[STEPS] = {0.01, 0.02, 0.03, 0.02, 0.01};
static const struct lm_adam adam = {
    .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = 0.1, .clip = 0.5};

static double step(struct small *small, int t)
{
    struct lm_adam now = adam;
    struct err err = {0};
    double norm = NAN;
    now.rate = rates[t];
    set_gradients(small, t);
    assert_ok(lm_optimizer_step(small->optimizer, &now, &norm, &err), &err);
    return norm;
}

/* The vector has no decay, and gradients are scaled by 0.5 / norm. */
TEST(against_torch)
{
    static const double norms[STEPS] = {0.742765113, 0.716240195, 0.721179601, 0.756967645,
                                        0.819573065};
    static const double expected[STEPS][MATRIX + VECTOR] = {
        {0.489500016, -0.989000022, 0.239749998, 1.99800003, 0.124875002, -0.739250004, 1.00999999,
         -0.50999999, 0.072499983},
        {0.469444811, -0.967015564, 0.24068585, 1.99400413, 0.109926067, -0.717994034, 1.02888644,
         -0.530006528, 0.0925064683},
        {0.439758301, -0.934102893, 0.230152771, 1.98802209, 0.0852062479, -0.687157929, 1.05106854,
         -0.560018122, 0.12251801},
        {0.419989169, -0.912250042, 0.230642498, 1.9840461, 0.0679539666, -0.668099105, 1.05743778,
         -0.580002785, 0.142502666},
        {0.410050303, -0.901378214, 0.228542432, 1.9820621, 0.0590459928, -0.659858942, 1.05631185,
         -0.589962363, 0.152462199},
    };
    struct small small;
    float values[MATRIX + VECTOR], left[VECTOR];
    small_open(&small);
    for (int t = 0; t < STEPS; t++) {
        assert_float_equal(step(&small, t), norms[t], 1e-6);
        values_of(&small, values);
        for (int i = 0; i < MATRIX + VECTOR; i++)
            if (fabs(values[i] - expected[t][i]) > 1e-6)
                fail_msg("step %d, value %d: %.9g instead of %.9g", t, i, values[i],
                         expected[t][i]);
        small.backend->download(small.backend, left, small.parameters[2].gradient, sizeof left);
        assert_true(left[0] == 0 && left[1] == 0 && left[2] == 0);
        assert_int_equal(small.model.version, t + 1);
    }
    small.backend->download(small.backend, left, small.parameters[1].value, sizeof left);
    assert_float_equal(left[0], 1, 0);
    assert_int_equal(lm_optimizer_steps(small.optimizer), STEPS);
    small_close(&small);
}

TEST(what_is_not_finite)
{
    struct small small;
    float before[MATRIX + VECTOR], after[MATRIX + VECTOR], gradient[VECTOR] = {1, NAN, 1};
    struct err err = {0};
    double norm = 0;
    small_open(&small);
    step(&small, 0);
    values_of(&small, before);
    small.backend->upload(small.backend, small.parameters[2].gradient, gradient, sizeof gradient);
    assert_int_equal(lm_optimizer_step(small.optimizer, &lm_adam_defaults, &norm, &err), ERR_INPUT);
    assert_true(isnan(norm));
    assert_non_null(strstr(err.text, "norm is"));
    values_of(&small, after);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(lm_optimizer_steps(small.optimizer), 1);
    small.backend->download(small.backend, gradient, small.parameters[2].gradient, sizeof gradient);
    assert_float_equal(gradient[0], 0, 0);
    small_close(&small);
}

TEST(refused)
{
    static const struct {
        struct lm_adam adam;
        const char *why;
    } rows[] = {
        {{.rate = -1, .beta1 = 0.9, .beta2 = 0.9, .epsilon = 1e-8}, "rate is -1"},
        {{.rate = NAN, .beta1 = 0.9, .beta2 = 0.9, .epsilon = 1e-8}, "rate is nan"},
        {{.rate = 1, .beta1 = 1, .beta2 = 0.9, .epsilon = 1e-8}, "beta1 is 1"},
        {{.rate = 1, .beta1 = 0.9, .beta2 = -0.1, .epsilon = 1e-8}, "beta2 is -0.1"},
        {{.rate = 1, .beta1 = 0.9, .beta2 = 0.9}, "epsilon is 0"},
        {{.rate = 1, .beta1 = 0.9, .beta2 = 0.9, .epsilon = 1e-8, .decay = INFINITY}, "decay"},
        {{.rate = 1, .beta1 = 0.9, .beta2 = 0.9, .epsilon = 1e-8, .clip = -2}, "clip is -2"},
    };
    struct small small;
    small_open(&small);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        assert_int_equal(lm_optimizer_step(small.optimizer, &rows[i].adam, NULL, &err), ERR_INPUT);
        if (!strstr(err.text, rows[i].why))
            fail_msg("row %zu: %s", i, err.text);
    }
    assert_int_equal(lm_optimizer_steps(small.optimizer), 0);
    lm_optimizer_close(small.optimizer);
    struct err err = {0};
    for (int i = 0; i < 3; i++)
        small.parameters[i].gradient = NULL;
    assert_int_equal(lm_optimizer_open(&small.optimizer, &small.model, &err), ERR_INPUT);
    small.optimizer = NULL;
    small_close(&small);
}

/* Two steps, saved, loaded by another that goes on: bit for bit as five steps at once. */
TEST_WITH(saved_and_loaded, scratch_begin, NULL)
{
    struct small whole, first, second;
    float expected[MATRIX + VECTOR], values[MATRIX + VECTOR];
    struct err err = {0};
    const char *path = scratch_path("optimizer.safetensors");
    small_open(&whole);
    small_open(&first);
    small_open(&second);
    for (int t = 0; t < STEPS; t++)
        step(&whole, t);
    values_of(&whole, expected);
    for (int t = 0; t < 2; t++)
        step(&first, t);
    assert_ok(lm_optimizer_save(first.optimizer, path, &err), &err);
    values_of(&first, values);
    second.backend->upload(second.backend, second.parameters[0].value, values,
                           MATRIX * sizeof *values);
    second.backend->upload(second.backend, second.parameters[2].value, values + MATRIX,
                           VECTOR * sizeof *values);
    assert_ok(lm_optimizer_load(second.optimizer, path, &err), &err);
    assert_int_equal(lm_optimizer_steps(second.optimizer), 2);
    for (int t = 2; t < STEPS; t++)
        step(&second, t);
    values_of(&second, values);
    assert_memory_equal(values, expected, sizeof values);

    /* Of another choice of parameters, and of other shapes. */
    lm_optimizer_close(second.optimizer);
    second.parameters[1].gradient = second.parameters[1].value;
    assert_int_equal(lm_optimizer_open(&second.optimizer, &second.model, &err), 0);
    assert_int_equal(lm_optimizer_load(second.optimizer, path, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "has no frozen.m"));
    lm_optimizer_close(second.optimizer);
    second.parameters[1].gradient = NULL;
    second.parameters[0].rows = 1;
    assert_int_equal(lm_optimizer_open(&second.optimizer, &second.model, &err), 0);
    assert_int_equal(lm_optimizer_load(second.optimizer, path, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "matrix.m has another type or shape"));
    assert_int_equal(lm_optimizer_steps(second.optimizer), 0);

    small_close(&whole);
    small_close(&first);
    small_close(&second);
}

TEST(schedules)
{
    static const struct {
        enum lm_schedule schedule;
        double floor;
        uint64_t warmup, steps, step;
        double rate;
    } rows[] = {{LM_CONSTANT, 0, 0, 10, 0, 2},    {LM_CONSTANT, 0.5, 0, 10, 9, 2},
                {LM_CONSTANT, 0, 4, 10, 0, 0.5},  {LM_CONSTANT, 0, 4, 10, 3, 2},
                {LM_LINEAR, 0, 0, 10, 0, 2},      {LM_LINEAR, 0, 0, 10, 5, 1},
                {LM_LINEAR, 0, 0, 10, 9, 0.2},    {LM_LINEAR, 0, 2, 10, 1, 2},
                {LM_LINEAR, 0, 2, 10, 2, 2},      {LM_LINEAR, 0, 2, 10, 6, 1},
                {LM_LINEAR, 1, 0, 10, 5, 1.5},    {LM_LINEAR, 1, 0, 10, 10, 1},
                {LM_LINEAR, 1, 0, 10, 999, 1},    {LM_COSINE, 0, 0, 8, 0, 2},
                {LM_COSINE, 0, 0, 8, 4, 1},       {LM_COSINE, 0, 0, 8, 2, 1.7071067811865475},
                {LM_COSINE, 0.4, 0, 8, 4, 1.2},   {LM_COSINE, 0.4, 0, 8, 8, 0.4},
                {LM_COSINE, 0, 20, 10, 4, 0.5},   {LM_LINEAR, 0, 10, 10, 9, 2},
                {LM_LINEAR, 0.5, 10, 10, 10, 0.5}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        double rate = lm_schedule_rate(rows[i].schedule, 2, rows[i].floor, rows[i].warmup,
                                       rows[i].steps, rows[i].step);
        if (fabs(rate - rows[i].rate) > 1e-12)
            fail_msg("row %zu: %.17g instead of %.17g", i, rate, rows[i].rate);
    }
}
