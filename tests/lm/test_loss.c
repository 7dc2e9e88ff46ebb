/* Losses against numbers worked out from their formulas, and gradients against differences. */
#include "../support/test.h"
#include "lm/train/loss.h"

#include <math.h>

#define ROWS 6
#define CLOSE 1e-6

/* r = 1, e^0.5, e^-1, e, e^-0.5; the last row is masked. */
static const float p[ROWS] = {-1, -0.5F, -2, -0.25F, -3, -1};
static const float q[ROWS] = {-1, -1, -1, -1.25F, -2.5F, -0.25F};
static const float a[ROWS] = {1, 2, -1.5F, -0.5F, 0.75F, 0};

#define R2 1.64872127070013
#define R3 0.367879441171442
#define R4 2.71828182845905
#define R5 0.606530659712633

struct expected {
    const char *loss;
    double clip_low, clip_high, dual_clip, beta;
    double terms[ROWS], slopes[ROWS];
    int clipped;
};

static const struct expected table[] = {
    {"importance_sampling", NAN, NAN, NAN, NAN,
     .terms = {-1, -2 * R2, 0.551819161757164, 1.35914091422952, -0.454897994784475, 0},
     .slopes = {-1, -2 * R2, 0.551819161757164, 1.35914091422952, -0.454897994784475, 0}, 0},
    /* 1.2 x 2, 0.8 x 1.5; the fourth has r > 1.2, but A < 0: it is not bounded */
    {"ppo", NAN, NAN, NAN, NAN, .terms = {-1, -2.4, 1.2, 1.35914091422952, -0.454897994784475, 0},
     .slopes = {-1, 0, 0, 1.35914091422952, -0.454897994784475, 0}, 2},
    {"ppo", 0.8, 1.2, 2.0, NAN, .terms = {-1, -2.4, 1.2, 1.0, -0.454897994784475, 0},
     .slopes = {-1, 0, 0, 0, -0.454897994784475, 0}, 3},
    {"ppo", 0.25, 1.75, NAN, NAN,
     .terms = {-1, -2 * R2, 0.551819161757164, 1.35914091422952, -0.454897994784475, 0},
     .slopes = {-1, -2 * R2, 0.551819161757164, 1.35914091422952, -0.454897994784475, 0}, 0},
    {"cispo", NAN, NAN, NAN, NAN,
     .terms = {1, R2, -1.10363832351433, -0.339785228557381, 1.36469398435343, 0},
     .slopes = {-1, -2 * R2, 1.5 * R3, 0.5 * R4, -0.75 * R5, 0}, 0},
    {"cispo", 0.9, 1.1, NAN, NAN, .terms = {1, 1.1, -2.7, -0.1375, 2.025, 0},
     .slopes = {-1, -2.2, 1.35, 0.55, -0.675, 0}, 4},
    {"dro", NAN, NAN, NAN, NAN, .terms = {1, 1.00625, -2.975, -0.1, 2.25625, 0.0140625},
     .slopes = {-1, -1.975, 1.45, 0.55, -0.775, -0.0375}, 0},
    {"dro", NAN, NAN, NAN, 0, {1, 1, -3, -0.125, 2.25, 0}, {-1, -2, 1.5, 0.5, -0.75, 0}, 0},
};

static struct loss_config configured(const struct loss *loss, double low, double high, double dual,
                                     double beta)
{
    struct loss_config config = {low, high, dual, beta, NAN};
    struct err err;
    assert_ok(loss_config_check(loss, &config, &err), &err);
    return config;
}

TEST(ratio_losses)
{
    for (size_t t = 0; t < COUNT(table); t++) {
        const struct expected *row = &table[t];
        const struct loss *loss = loss_find(row->loss);
        struct loss_config config = configured(loss, row->clip_low, row->clip_high, row->dual_clip,
                                               row->beta);
        struct loss_input input = {ROWS, 1, p, NULL, q, a};
        struct loss_sums sums, again;
        float slopes[ROWS];
        double total = 0;
        loss_apply(loss, &config, &input, slopes, &sums);
        for (size_t i = 0; i < ROWS; i++) {
            struct loss_input one = {1, 1, p + i, NULL, q + i, a + i};
            loss_apply(loss, &config, &one, NULL, &again);
            if (fabs(again.loss - row->terms[i]) > CLOSE ||
                fabs(slopes[i] - row->slopes[i]) > CLOSE)
                fail_msg("%s (row %zu of %zu): %.9g and %.9g instead of %.9g and %.9g", row->loss,
                         i, t, again.loss, slopes[i], row->terms[i], row->slopes[i]);
            total += row->terms[i];
        }
        assert_float_equal(sums.loss, total, CLOSE);
        assert_int_equal(sums.clipped, row->clipped);
        assert_int_equal(sums.tokens, 5);
        assert_float_equal(sums.ratio, 1 + R2 + R3 + R4 + R5, CLOSE);
        assert_float_equal(sums.kl, 0 - 0.5 + 1 - 1 + 0.5, CLOSE);
    }
}

TEST(cross_entropy)
{
    const struct loss *loss = loss_find("cross_entropy");
    struct loss_config config = configured(loss, NAN, NAN, NAN, NAN);
    const float weights[ROWS] = {1, 0, 0.5F, -2, 0, 1}, hopeless[2] = {-INFINITY, -1};
    struct loss_input hard = {ROWS, 1, p, weights, NULL, NULL},
                      all = {ROWS, 1, p, NULL, NULL, NULL}, soft = {3, 2, p, weights, NULL, NULL},
                      masked = {2, 1, hopeless, (const float[]){0, 1}, NULL, NULL};
    struct loss_sums sums;
    float slopes[ROWS];
    loss_apply(loss, &config, &hard, slopes, &sums);
    assert_float_equal(sums.loss, 1 + 1 - 0.5 + 1, CLOSE);
    assert_int_equal(sums.tokens, 4);
    for (size_t i = 0; i < ROWS; i++)
        assert_float_equal(slopes[i], -weights[i], 0);
    loss_apply(loss, &config, &all, slopes, &sums);
    assert_float_equal(sums.loss, 7.75, CLOSE);
    assert_int_equal(sums.tokens, ROWS);
    assert_float_equal(slopes[4], -1, 0);
    /* Rows of two targets: the middle row is 0.5 and -2, the last 0 and 1. */
    loss_apply(loss, &config, &soft, slopes, &sums);
    assert_float_equal(sums.loss, 1 + 1 - 0.5 + 1, CLOSE);
    assert_int_equal(sums.tokens, 3);
    assert_float_equal(slopes[3], 2, 0);
    loss_apply(loss, &config, &masked, slopes, &sums);
    assert_float_equal(sums.loss, 1, 0);
}

/* Loss of one row, p moved by a step that a float holds exactly. */
static double loss_at_p(const struct loss *loss, const struct loss_config *config, float at,
                        float sampled, float advantage)
{
    struct loss_input input = {1, 1, &at, &advantage, &sampled, &advantage};
    struct loss_sums sums;
    loss_apply(loss, config, &input, NULL, &sums);
    return sums.loss;
}

TEST(gradients)
{
    const float step = 1.0F / 4096;
    size_t compared = 0;
    for (size_t l = 0; loss_at(l); l++) {
        const struct loss *loss = loss_at(l);
        bool ppo = strcmp(loss->name, "ppo") == 0;
        struct loss_config config = configured(loss, NAN, NAN, ppo ? 3 : NAN, NAN);
        /* cispo's weight is held still: no difference shows it. */
        for (int at = 0; at < 61 && strcmp(loss->name, "cispo") != 0; at++) {
            float where = (float)at * -0.0625F, sampled = -1.71875F;
            float advantage = at % 3 == 0 ? -1.25F : 0.75F;
            struct loss_input input = {1, 1, &where, &advantage, &sampled, &advantage};
            struct loss_sums sums;
            float slope;
            loss_apply(loss, &config, &input, &slope, &sums);
            double above = loss_at_p(loss, &config, where + step, sampled, advantage);
            double below = loss_at_p(loss, &config, where - step, sampled, advantage);
            assert_float_equal(slope, (above - below) / (2 * (double)step), 1e-5);
            compared++;
        }
    }
    assert_int_equal(compared, 4 * 61);
}

/* A ratio that stands exactly on a bound is not beyond it. */
TEST(on_the_bounds)
{
    const struct loss *loss = loss_find("ppo");
    struct loss_config high = configured(loss, 0.5, exp(0.5), NAN, NAN),
                       low = configured(loss, exp(-1), 1.5, NAN, NAN),
                       dual = configured(loss, 0.5, 2, exp(1), NAN);
    struct loss_sums sums;
    float slope;
    loss_apply(loss, &high, &(struct loss_input){1, 1, p + 1, NULL, q + 1, a + 1}, &slope, &sums);
    assert_float_equal(slope, -2 * R2, CLOSE);
    assert_int_equal(sums.clipped, 0);
    loss_apply(loss, &low, &(struct loss_input){1, 1, p + 2, NULL, q + 2, a + 2}, &slope, &sums);
    assert_float_equal(slope, 1.5 * R3, CLOSE);
    assert_int_equal(sums.clipped, 0);
    loss_apply(loss, &dual, &(struct loss_input){1, 1, p + 3, NULL, q + 3, a + 3}, &slope, &sums);
    assert_float_equal(slope, 0.5 * R4, CLOSE);
    assert_int_equal(sums.clipped, 0);
}

TEST(far_away)
{
    const float near_zero = 0, far = -200, one = 1, minus = -1, unknown = NAN, zero = 0;
    struct loss_sums sums;
    float slope;
    for (size_t l = 1; loss_at(l); l++) {
        const struct loss *loss = loss_at(l);
        struct loss_config config = configured(loss, NAN, NAN, NAN, NAN);
        struct loss_input rises = {1, 1, &near_zero, NULL, &far, &one},
                          falls = {1, 1, &far, NULL, &near_zero, &one},
                          worse = {1, 1, &near_zero, NULL, &far, &minus},
                          prompt = {1, 1, &far, NULL, &unknown, &zero},
                          lost = {1, 1, &far, NULL, &unknown, &one},
                          broken = {1, 1, &unknown, NULL, &far, &one};
        loss_apply(loss, &config, &rises, &slope, &sums);
        assert_true(isfinite(sums.loss) && isfinite(slope));
        assert_float_equal(sums.ratio, 485165195.409790, 1e-3);
        loss_apply(loss, &config, &falls, &slope, &sums);
        assert_true(isfinite(sums.loss) && isfinite(slope));
        loss_apply(loss, &config, &worse, &slope, &sums);
        assert_true(isfinite(sums.loss) && isfinite(slope));
        loss_apply(loss, &config, &prompt, &slope, &sums);
        assert_float_equal(sums.loss, 0, 0);
        assert_float_equal(slope, 0, 0);
        assert_float_equal(sums.tokens, 0, 0);
        loss_apply(loss, &config, &lost, &slope, &sums);
        assert_true(isnan(sums.loss) && isnan(slope));
        loss_apply(loss, &config, &broken, &slope, &sums);
        assert_true(isnan(sums.loss) && isnan(slope));
    }
    const struct loss *loss = loss_find("importance_sampling");
    struct loss_config config = configured(loss, NAN, NAN, NAN, NAN);
    loss_apply(loss, &config, &(struct loss_input){1, 1, &near_zero, NULL, &far, &minus}, &slope,
               &sums);
    assert_float_equal(sums.loss, 485165195.409790, 1e-3);
    assert_float_equal(slope, 0, 0);
    assert_float_equal(sums.clipped, 1, 0);
}

TEST(entropy)
{
    const float entropy[ROWS] = {0.5F, 1, 2, 0.25F, 3, 100};
    struct loss_config config = {NAN, NAN, NAN, NAN, 0.125};
    struct loss_input input = {ROWS, 1, p, NULL, q, a};
    const struct loss *loss = loss_find("ppo");
    struct loss_sums sums = {.loss = 10};
    float slopes[ROWS];
    assert_int_equal(loss_config_check(loss, &config, NULL), 0);
    loss_entropy(loss, &config, &input, entropy, slopes, &sums);
    assert_float_equal(sums.entropy, 6.75, CLOSE);
    assert_float_equal(sums.loss, 10 - 0.125 * 6.75, CLOSE);
    assert_float_equal(slopes[0], -0.125, 0);
    assert_float_equal(slopes[5], 0, 0);
}

/* Advantages that were divided by a count pull as hard against the entropy, and against dro's
 * square, as before, if these have the same weight. */
TEST(weights_of_ratio_losses)
{
    static const float weights[ROWS] = {0.25F, 0.25F, 0.5F, 0.125F, 0.25F, 0};
    const float entropy[ROWS] = {0.5F, 1, 2, 0.25F, 3, 100};
    const struct loss_input plain = {ROWS, 1, p, NULL, q, a}, weighed = {ROWS, 1, p, weights, q, a};
    for (const char *const *name = (const char *const[]){"ppo", "dro", NULL}; *name; name++) {
        const struct loss *loss = loss_find(*name);
        struct loss_config config = configured(loss, NAN, NAN, NAN, NAN);
        struct loss_sums one, other;
        float slopes[ROWS], others[ROWS];
        loss_apply(loss, &config, &plain, slopes, &one);
        loss_apply(loss, &config, &weighed, others, &other);
        for (size_t i = 0; i < ROWS; i++) {
            double square = strcmp(*name, "dro") == 0 ? config.beta * ((double)p[i] - q[i]) : 0;
            assert_float_equal(others[i] - slopes[i], ((double)weights[i] - 1) * square, CLOSE);
            one.loss += ((double)weights[i] - 1) * square / 2 * ((double)p[i] - q[i]);
        }
        assert_float_equal(other.loss, one.loss, CLOSE);
        assert_float_equal(other.kl, one.kl, 0);

        other.loss = 0;
        config.entropy = 0.125;
        loss_entropy(loss, &config, &weighed, entropy, others, &other);
        assert_float_equal(other.entropy, 6.75, CLOSE);
        assert_float_equal(other.loss, -0.125 * (0.125 + 0.25 + 1 + 0.03125 + 0.75), CLOSE);
        assert_float_equal(others[2], -0.0625, 0);
    }
}

TEST(sums_of_blocks)
{
    const struct loss *loss = loss_find("ppo");
    struct loss_config config = configured(loss, NAN, NAN, NAN, NAN);
    struct loss_sums whole, part, sum = {0};
    float slopes[ROWS], parts[ROWS];
    loss_apply(loss, &config, &(struct loss_input){ROWS, 1, p, NULL, q, a}, slopes, &whole);
    for (size_t at = 0; at < ROWS; at += 2) {
        struct loss_input input = {2, 1, p + at, NULL, q + at, a + at};
        loss_apply(loss, &config, &input, parts + at, &part);
        loss_sums_add(&sum, &part);
    }
    assert_memory_equal(slopes, parts, sizeof slopes);
    assert_float_equal(sum.loss, whole.loss, 1e-12);
    assert_float_equal(sum.clipped, whole.clipped, 0);
    assert_float_equal(sum.kl, whole.kl, 1e-12);
}

TEST(configurations)
{
    static const struct {
        const char *loss;
        struct loss_config config;
        const char *why; /* NULL: accepted */
    } rows[] = {
        {"ppo", {NAN, NAN, NAN, NAN, NAN}, NULL},
        {"ppo", {1, 1, NAN, NAN, NAN}, NULL},
        {"ppo", {0, INFINITY, 0, NAN, NAN}, NULL},
        {"ppo", {0.2, 0.2, NAN, NAN, NAN}, "not epsilons"},
        {"ppo", {1.2, 0.8, NAN, NAN, NAN}, "low <= high"},
        {"ppo", {-0.1, 1.2, NAN, NAN, NAN}, "0 <= low"},
        {"ppo", {NAN, NAN, 1, NAN, NAN}, "above 1"},
        {"ppo", {NAN, 5, 3, NAN, NAN}, "not below clip_high 5"},
        {"ppo", {NAN, NAN, NAN, 0.1, NAN}, "has no beta"},
        {"ppo", {NAN, NAN, NAN, NAN, INFINITY}, "entropy"},
        {"cispo", {NAN, 0.5, NAN, NAN, NAN}, NULL},
        {"cispo", {NAN, NAN, 3, NAN, NAN}, "has no dual_clip"},
        {"dro", {NAN, NAN, NAN, 0, NAN}, NULL},
        {"dro", {NAN, NAN, NAN, -1, NAN}, "beta is -1"},
        {"dro", {0.8, NAN, NAN, NAN, NAN}, "has no clip_low"},
        {"importance_sampling", {NAN, 1.2, NAN, NAN, NAN}, "has no clip_high"},
        {"cross_entropy", {NAN, NAN, NAN, NAN, 0.01}, NULL},
        {"cross_entropy", {0, 0, 0, 0, 0}, "has no clip_low"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct loss_config config = rows[i].config;
        struct err err = {0};
        int result = loss_config_check(loss_find(rows[i].loss), &config, &err);
        assert_int_equal(result, rows[i].why ? ERR_INPUT : 0);
        if (rows[i].why && !strstr(err.text, rows[i].why))
            fail_msg("row %zu: %s", i, err.text);
    }
    struct loss_config ppo = configured(loss_find("ppo"), NAN, NAN, NAN, NAN);
    assert_float_equal(ppo.clip_low, 0.8, 0);
    assert_float_equal(ppo.clip_high, 1.2, 0);
    assert_float_equal(ppo.dual_clip, 0, 0);
    assert_float_equal(ppo.entropy, 0, 0);
    assert_null(loss_find("PPO"));
    assert_null(loss_at(5));
}
