/* From logits to a token: tables with ties, bounds and bad numbers, and the frequencies of many
 * choices against the distribution that was asked for. */
#include "../support/test.h"
#include "lm/sample/choose.h"

#include <math.h>

#define MOST 8
#define CLOSE 1e-6

/* The ids that can come, in the order in which [0, 1) is divided among them, by probability (so
 * that all logits may be given as log(probability)). */
struct row {
    const char *name;
    float p[MOST]; /* up to the first negative one */
    double temperature, top_p, min_p;
    size_t top_k;
    int32_t kept[MOST]; /* up to -1 */
};

static const struct row rows[] = {
    {"greedy", {.1f, .5f, .4f, -1}, 0, 1, 0, 0, {1, -1}},
    {"greedy, tie: the lower id", {.2f, .4f, .4f, -1}, 0, 1, 0, 0, {1, -1}},
    {"nothing taken away", {.1f, .5f, .4f, -1}, 1, 1, 0, 0, {0, 1, 2, -1}},
    {"impossible ones never come", {0, .5f, 0, .5f, -1}, 1, 1, 0, 0, {1, 3, -1}},
    {"top_k", {.1f, .5f, .4f, -1}, 1, 1, 0, 2, {1, 2, -1}},
    {"top_k 1", {.1f, .5f, .4f, -1}, 1, 1, 0, 1, {1, -1}},
    {"top_k, tie at its end: the lower id", {.25f, .25f, .25f, .25f, -1}, 1, 1, 0, 2, {0, 1, -1}},
    {"top_k beyond all", {.1f, .5f, .4f, -1}, 1, 1, 0, 9, {0, 1, 2, -1}},
    {"top_k counts impossible ones, which never come", {0, 1, 0, -1}, 1, 1, 0, 2, {1, -1}},
    {"top_p 0: the best", {.1f, .5f, .4f, -1}, 1, 0, 0, 0, {1, -1}},
    {"top_p reached exactly", {.25f, .25f, .25f, .25f, -1}, 1, .5, 0, 0, {0, 1, -1}},
    {"top_p missed by little", {.25f, .25f, .25f, .25f, -1}, 1, .5000001, 0, 0, {0, 1, 2, -1}},
    {"top_p below the best", {.1f, .5f, .4f, -1}, 1, .4, 0, 0, {1, -1}},
    {"top_p between", {.1f, .5f, .4f, -1}, 1, .6, 0, 0, {1, 2, -1}},
    {"top_p of what top_k left", {.25f, .25f, .25f, .25f, -1}, 1, .5, 0, 2, {0, -1}},
    {"min_p", {.1f, .5f, .4f, -1}, 1, 1, .5, 0, {1, 2, -1}},
    {"min_p met exactly", {.25f, .5f, .125f, .125f, -1}, 1, 1, .5, 0, {0, 1, -1}},
    {"min_p 1: the best, and its equals", {.4f, .2f, .4f, -1}, 1, 1, 1, 0, {0, 2, -1}},
    {"min_p and top_p", {.1f, .5f, .4f, -1}, 1, .99, .5, 0, {1, 2, -1}},
    {"temperature before top_p", {.25f, .25f, .25f, .25f, -1}, 100, .75, 0, 0, {0, 1, 2, -1}},
    {"cold is greedy", {.1f, .5f, .4f, -1}, 1e-6, 1, 0, 0, {1, -1}},
    {"as cold as can be", {.1f, .5f, .4f, -1}, 1e-300, .9, 0, 0, {1, -1}},
    {"colder than 1 over it can be", {.1f, .5f, .4f, -1}, 1e-310, .9, 0, 0, {1, -1}},
    {"two tokens, one impossible", {1, 0, -1}, 1, .5, .5, 3, {0, -1}},
};

static size_t logits_of(const struct row *row, float *logits)
{
    size_t count = 0;
    for (; count < MOST && row->p[count] >= 0; count++)
        logits[count] = logf(row->p[count]) + 3; /* a constant changes nothing */
    return count;
}

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct lm_sampling sampling = {.temperature = row->temperature,
                                       .top_p = row->top_p,
                                       .min_p = row->min_p,
                                       .top_k = row->top_k,
                                       .top_logprobs = 2};
        float logits[MOST], logprob;
        struct chooser chooser;
        struct lm_top top[2];
        size_t kept = 0;
        double mass = 0, sum = 0;
        chooser_init(&chooser, logits_of(row, logits));
        for (; kept < MOST && row->kept[kept] >= 0; kept++)
            mass += pow((double)row->p[row->kept[kept]], 1 / fmax(row->temperature, 1e-3));
        for (size_t k = 0; k < kept; k++) {
            int32_t wanted = row->kept[k], id = -1;
            double p = pow((double)row->p[wanted], 1 / fmax(row->temperature, 1e-3)) / mass;
            if (choose(&chooser, logits, &sampling, (sum + p / 2), &id, &logprob, top, NULL) < 0)
                fail_msg("%s: refused", row->name);
            if (id != wanted)
                fail_msg("%s: %d, not %d", row->name, id, wanted);
            if (fabs((double)logprob - log((double)row->p[id])) > CLOSE)
                fail_msg("%s: logprob %g", row->name, (double)logprob);
            sampling.processed = true;
            assert_int_equal(choose(&chooser, logits, &sampling, (sum + p / 2), &id, &logprob, top,
                                    NULL),
                             0);
            if (fabs((double)logprob - log(p)) > 1e-5)
                fail_msg("%s: processed logprob %g, not %g", row->name, (double)logprob, log(p));
            assert_true(isfinite(top[0].logprob));
            if (row->temperature == 0 || row->temperature >= 1) /* colder ones underflow */
                assert_int_equal(isfinite(top[1].logprob), kept > 1 && row->p[top[1].id] > 0);
            sampling.processed = false;
            sum += p;
        }
        /* The ends of [0, 1) belong to the first and the last. */
        int32_t first = -1, last = -1;
        assert_int_equal(choose(&chooser, logits, &sampling, 0, &first, &logprob, top, NULL), 0);
        assert_int_equal(choose(&chooser, logits, &sampling, 1 - 0x1p-53, &last, &logprob, top,
                                NULL),
                         0);
        if (first != row->kept[0] || last != row->kept[kept - 1])
            fail_msg("%s: ends %d and %d", row->name, first, last);
        chooser_deinit(&chooser);
    }
}

TEST(top)
{
    static const float logits[] = {1, 3, -INFINITY, 3, 2};
    const double lse = log(exp(1) + 2 * exp(3) + exp(2));
    static const int32_t wanted[] = {1, 3, 4, 0, 2, -1};
    struct lm_top top[6];
    float logprob;
    for (size_t count = 1; count <= 6; count++) {
        assert_int_equal(choose_score(logits, 5, 4, &logprob, top, count, NULL), 0);
        assert_true(fabs((double)logprob - (2 - lse)) < CLOSE);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(top[i].id, wanted[i]);
            if (i < 4)
                assert_true(fabs((double)(top[i].logprob - logits[wanted[i]]) + lse) < CLOSE);
            else
                assert_true(top[i].logprob == -INFINITY);
        }
    }
    assert_int_equal(choose_score(logits, 5, 2, &logprob, NULL, 0, NULL), 0);
    assert_true(logprob == -INFINITY);
}

TEST(bad_numbers)
{
    static const float bad[][2] = {
        {NAN, 1}, {1, NAN}, {INFINITY, 1}, {-INFINITY, -INFINITY}, {-INFINITY, NAN}};
    const struct lm_sampling sampling = {.temperature = 1, .top_p = .5};
    struct chooser chooser;
    chooser_init(&chooser, 2);
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err err = {0};
        int32_t id;
        float logprob;
        assert_int_equal(choose(&chooser, bad[i], &sampling, .5, &id, &logprob, NULL, &err),
                         ERR_INPUT);
        assert_true(err.text[0] != '\0');
        assert_int_equal(choose_score(bad[i], 2, 0, &logprob, NULL, 0, &err), ERR_INPUT);
    }
    chooser_deinit(&chooser);
}

#define VOCAB 50
#define DRAWS 200000
/* Of χ² with 49 degrees of freedom, above which one in 10⁵ lies; fewer degrees have less. */
#define BOUND 102.0

struct shape {
    const char *name;
    struct lm_sampling sampling;
};

static double weight_of(const float *logits, size_t id, const struct lm_sampling *sampling)
{
    size_t rank = 0;
    double all = 0, ahead = 0, highest = 0;
    for (size_t i = 0; i < VOCAB; i++) {
        double weight = exp((double)logits[i] / sampling->temperature);
        bool more = logits[i] > logits[id] || (logits[i] == logits[id] && i < id);
        rank += more;
        ahead += more ? weight : 0;
        all += weight;
        highest = fmax(highest, weight);
    }
    double own = exp((double)logits[id] / sampling->temperature);
    bool out = (sampling->top_k > 0 && rank >= sampling->top_k) ||
               (sampling->top_p < 1 && ahead >= sampling->top_p * all) ||
               own < sampling->min_p * highest;
    return out ? 0 : own;
}

TEST(frequencies)
{
    static const struct shape shapes[] = {
        {"plain", {.temperature = 1, .top_p = 1}},
        {"warm", {.temperature = 1.7, .top_p = 1}},
        {"top_k", {.temperature = 1, .top_p = 1, .top_k = 7}},
        {"top_p", {.temperature = .8, .top_p = .9}},
        {"min_p", {.temperature = 1, .top_p = 1, .min_p = .05}},
        {"top_p and min_p", {.temperature = 1, .top_p = .95, .min_p = .1}},
    };
    float logits[VOCAB], logprob;
    struct chooser chooser;
    chooser_init(&chooser, VOCAB);
    for (size_t i = 0; i < VOCAB; i++)
        logits[i] = 2 * sinf((float)(i * i));
    for (size_t s = 0; s < COUNT(shapes); s++) {
        size_t counts[VOCAB] = {0};
        double all = 0, chi = 0;
        for (size_t i = 0; i < DRAWS; i++) {
            int32_t id;
            assert_int_equal(choose(&chooser, logits, &shapes[s].sampling, choose_uniform(s, i),
                                    &id, &logprob, NULL, NULL),
                             0);
            counts[id]++;
        }
        for (size_t i = 0; i < VOCAB; i++)
            all += weight_of(logits, i, &shapes[s].sampling);
        for (size_t i = 0; i < VOCAB; i++) {
            double wanted = DRAWS * weight_of(logits, i, &shapes[s].sampling) / all;
            if (wanted == 0)
                assert_int_equal(counts[i], 0);
            else
                chi += ((double)counts[i] - wanted) * ((double)counts[i] - wanted) / wanted;
        }
        if (chi > BOUND)
            fail_msg("%s: χ² is %.1f", shapes[s].name, chi);
    }
    chooser_deinit(&chooser);
}

/* Numbers of neighbouring seeds and positions have nothing to do with each other. */
TEST(uniform)
{
    double sum = 0, squares = 0, along = 0, across = 0;
    const size_t count = 100000;
    for (size_t i = 0; i < count; i++) {
        double here = choose_uniform(i / 300, i % 300) - .5;
        assert_true(here >= -.5 && here < .5);
        sum += here;
        squares += here * here;
        along += here * (choose_uniform(i / 300, i % 300 + 1) - .5);
        across += here * (choose_uniform(i / 300 + 1, i % 300) - .5);
    }
    /* Five standard deviations. */
    assert_true(fabs(sum) < 5 * sqrt((double)count / 12));
    assert_true(fabs(squares - (double)count / 12) < 5 * sqrt((double)count / 180));
    assert_true(fabs(along) < 5 * sqrt((double)count) / 12);
    assert_true(fabs(across) < 5 * sqrt((double)count) / 12);
    assert_true(choose_uniform(7, 3) == choose_uniform(7, 3));
}
