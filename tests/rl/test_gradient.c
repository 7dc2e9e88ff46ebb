/* Estimated gradients against the true one, on a policy of two tokens small enough to enumerate:
 * every rollout, every sample of N rollouts, with its exact probability. There is no sampling
 * noise, so an expectation is equal to ∇J, or it is not.
 *
 * A rollout is a way down a binary tree: at each node the policy says 1 with probability
 * σ(θ[node]), the next turn is the next node, and some ways end early, so that later turns have
 * fewer members.
 * Everything goes through rl/method/method.h, as in a run.
 */
#include "lm/train/loss.h"
#include "rl/method/method.h"

#include "../support/rl_batches.h"
#include "../support/test.h"

#include <math.h>

TEST_EACH(NULL, rl_test_free);

#define NODES 7 /* three turns */
#define TURNS 3
#define PATHS 8
#define SAMPLES 4
#define CLOSE 1e-6 /* log-probabilities are floats */
#define APART 1e-3

struct world {
    size_t turns;
    bool ends[NODES][2]; /* after this token */
    double reward[NODES][2];
};

static const double theta[NODES] = {0.3, -0.4, 0.8, 0.1, -0.9, 0.5, 1.1};
static const double behaviour[NODES] = {-0.2, 0.1, 0.4, -0.3, -0.5, 0.9, 0.6};

static const struct world single = {.turns = 1, .reward = {{0.25, 1.5}}};
/* All rollouts have three turns. */
static const struct world even = {
    .turns = 3, .reward = {{0.5, 0}, {1, 0.25}, {0, 2}, {1, 0}, {0.5, 3}, {0, 0.75}, {1.25, 0}}};
/* Half of them are over after the first turn, and some of the others after the second. */
static const struct world uneven = {
    .turns = 3,
    .ends = {{false, true}, {true, false}},
    .reward = {{0.5, 1}, {1, 0.25}, {0, 2}, {1, 0}, {0.5, 3}, {0, 0.75}, {1.25, 0}}};
/* Solved at once, or at the second turn, for the same return. */
static const struct world tied = {.turns = 2, .ends = {{false, true}}, .reward = {{0, 1}, {1, 2}}};
static const struct world outcome = {
    .turns = 3, .reward = {[3] = {1, 0}, [4] = {0.5, 3}, [5] = {0, 0.75}, [6] = {1.25, 0}}};

static double probability(const double *parameters, size_t node, size_t token)
{
    double one = 1 / (1 + exp(-parameters[node]));
    return token ? one : 1 - one;
}

struct path {
    size_t turns;
    size_t nodes[TURNS], tokens[TURNS];
};

/* The ways of a world, each once. */
static size_t list_paths(const struct world *world, struct path *paths)
{
    size_t count = 0;
    for (size_t bits = 0; bits < PATHS; bits++) {
        struct path path = {0};
        size_t node = 0;
        bool over = false;
        size_t unused = 0;
        for (size_t t = 0; t < TURNS; t++) {
            size_t token = bits >> t & 1;
            over |= t >= world->turns;
            if (over) {
                unused |= token;
                continue;
            }
            path.nodes[path.turns] = node;
            path.tokens[path.turns++] = token;
            over = world->ends[node][token];
            node = 2 * node + 1 + token;
        }
        if (!unused)
            paths[count++] = path;
    }
    return count;
}

static double path_probability(const struct path *path, const double *parameters)
{
    double product = 1;
    for (size_t t = 0; t < path->turns; t++)
        product *= probability(parameters, path->nodes[t], path->tokens[t]);
    return product;
}

static double objective(const struct world *world, const double *parameters)
{
    struct path paths[PATHS];
    size_t count = list_paths(world, paths);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < paths[i].turns; t++)
            sum += path_probability(&paths[i], parameters) *
                   world->reward[paths[i].nodes[t]][paths[i].tokens[t]];
    return sum;
}

/* Central differences of J: nothing of the score function is in it. */
static void true_gradient(const struct world *world, double *gradient)
{
    for (size_t i = 0; i < NODES; i++) {
        double moved[NODES];
        memcpy(moved, theta, sizeof moved);
        moved[i] = theta[i] + 1e-5;
        double above = objective(world, moved);
        moved[i] = theta[i] - 1e-5;
        gradient[i] = (above - objective(world, moved)) / 2e-5;
    }
}

struct setup {
    const struct world *world;
    size_t samples;
    const char *estimator;
    const double *sampler; /* parameters; NULL: θ itself */
    enum rl_level importance;
    double importance_upper;
    double baseline; /* of `return` */
    bool singleton_zero;
    const char *rule;        /* of returns; NULL: sum */
    double gamma;            /* 0: 1 */
    bool filtered;           /* constant prompts are dropped */
    const struct loss *loss; /* NULL: Σ A ∇log π */
    bool counted;            /* the mean over the rows that there are; else their sum / N */
};

static void fill_batch(const struct setup *setup, const struct path *const *chosen,
                       struct rl_batch *batch, size_t *nodes, size_t *tokens)
{
    const double *sampler = setup->sampler ? setup->sampler : theta;
    size_t rows = 0;
    size_t row = 0;
    for (size_t i = 0; i < setup->samples; i++)
        rows += chosen[i]->turns;
    rl_batch_alloc(batch, &rl_test_arena, rows, rows);
    for (size_t i = 0; i < setup->samples; i++)
        for (size_t t = 0; t < chosen[i]->turns; t++, row++) {
            nodes[row] = chosen[i]->nodes[t];
            tokens[row] = chosen[i]->tokens[t];
            batch->rollout[row] = (uint32_t)i;
            batch->turn[row] = (uint32_t)t;
            batch->reward[row] = setup->world->reward[nodes[row]][tokens[row]];
            batch->trained[row] = (float)log(probability(theta, nodes[row], tokens[row]));
            batch->sampled[row] = (float)log(probability(sampler, nodes[row], tokens[row]));
            double one = probability(theta, nodes[row], 1);
            batch->collision[row] = (float)(one * one + (1 - one) * (1 - one));
            batch->first[row + 1] = row + 1;
        }
}

static void set_method(const struct setup *setup, const struct rl_batch *batch,
                       struct rl_method *method)
{
    double *given = arena_alloc(&rl_test_arena, batch->rows * sizeof *given);
    assert_int_equal(rl_method_preset("trloo", method, NULL), 0);
    for (size_t row = 0; row < batch->rows; row++)
        given[row] = setup->baseline;
    method->normalisation = (struct rl_normalisation){
        .aggregation = RL_SEQ_MEAN_TOKEN_SUM,
        .nominal_rows = setup->counted ? 0 : setup->samples,
        .scale = 1,
    };
    method->estimator = rl_estimator(setup->estimator);
    method->advantage.baseline = given;
    method->advantage.singleton_zero = setup->singleton_zero;
    method->returns.rule = rl_return_rule(setup->rule ? setup->rule : "sum");
    method->returns.gamma = setup->gamma > 0 ? setup->gamma : 1;
    method->filter.kind = setup->filtered ? RL_FILTER_TURNS : RL_FILTER_NONE;
    method->importance = setup->importance;
    method->importance_upper = setup->importance_upper;
}

/* How the objective changes with each token's log-probability: what is followed upwards. */
static void slopes(const struct setup *setup, struct rl_batch *batch, double *slope)
{
    struct rl_step_report report;
    struct rl_method method;
    set_method(setup, batch, &method);
    rl_method_reject(batch, &method, 0, 0, &report);
    assert_int_equal(rl_method_weigh(batch, &method, 0, 0, 0, slope, NULL), 0);
    if (!setup->loss)
        return;
    float *advantages = arena_alloc(&rl_test_arena, batch->tokens * sizeof *advantages);
    float *change = arena_alloc(&rl_test_arena, batch->tokens * sizeof *change);
    struct loss_config config = {NAN, NAN, NAN, NAN, NAN};
    struct loss_sums sums = {0};
    struct loss_input input = {.count = batch->tokens,
                               .targets_per_row = 1,
                               .logprob = batch->trained,
                               .sampled = batch->sampled,
                               .advantages = advantages};
    for (size_t i = 0; i < batch->tokens; i++)
        advantages[i] = (float)slope[i];
    assert_int_equal(loss_config_check(setup->loss, &config, NULL), 0);
    loss_apply(setup->loss, &config, &input, change, &sums);
    for (size_t i = 0; i < batch->tokens; i++)
        slope[i] = -(double)change[i];
}

/* Adds Σ over tokens of slope · ∇log π. */
static void add_estimate(const struct setup *setup, const struct path *const *chosen,
                         double *gradient)
{
    struct rl_batch batch;
    size_t nodes[SAMPLES * TURNS];
    size_t tokens[SAMPLES * TURNS];
    double slope[SAMPLES * TURNS];
    fill_batch(setup, chosen, &batch, nodes, tokens);
    slopes(setup, &batch, slope);
    for (size_t i = 0; i < batch.rows; i++) {
        double score = (double)tokens[i] - probability(theta, nodes[i], 1);
        gradient[nodes[i]] += slope[i] * score;
    }
}

/* Every sample of N rollouts; of their estimates the mean, and the mean of the squared length. */
static double moments(const struct setup *setup, double *mean)
{
    const double *sampler = setup->sampler ? setup->sampler : theta;
    struct path paths[PATHS];
    size_t count = list_paths(setup->world, paths);
    size_t all = 1;
    double square = 0;
    for (size_t i = 0; i < setup->samples; i++)
        all *= count;
    memset(mean, 0, NODES * sizeof *mean);
    for (size_t code = 0; code < all; code++) {
        const struct path *chosen[SAMPLES];
        double chance = 1, gradient[NODES] = {0};
        size_t rest = code;
        for (size_t i = 0; i < setup->samples; i++, rest /= count) {
            chosen[i] = &paths[rest % count];
            chance *= path_probability(chosen[i], sampler);
        }
        add_estimate(setup, chosen, gradient);
        for (size_t n = 0; n < NODES; n++) {
            mean[n] += chance * gradient[n];
            square += chance * gradient[n] * gradient[n];
        }
    }
    return square;
}

static void expected_gradient(const struct setup *setup, double *gradient)
{
    (void)moments(setup, gradient);
}

/* Largest difference from factor · ∇J; NAN stands for the factor that fits best. */
static double distance(const struct setup *setup, double factor)
{
    double wanted[NODES];
    double got[NODES];
    double most = 0;
    double along = 0;
    double square = 0;
    true_gradient(setup->world, wanted);
    expected_gradient(setup, got);
    for (size_t i = 0; i < NODES; i++) {
        along += got[i] * wanted[i];
        square += wanted[i] * wanted[i];
    }
    factor = isnan(factor) ? along / square : factor;
    for (size_t i = 0; i < NODES; i++)
        most = fmax(most, fabs(got[i] - factor * wanted[i]));
    return most;
}

static const struct row {
    const char *what;
    struct setup setup;
    double factor; /* 0: 1 - 1/N */
    bool differs;
} rows[] = {
    {"REINFORCE", {&single, 3, .estimator = "return"}, 1, false},
    {"REINFORCE, a baseline", {&single, 3, .estimator = "return", .baseline = 0.7}, 1, false},
    {"RLOO", {&single, 3, .estimator = "rloo"}, 1, false},
    {"RLOO, N 4", {&single, 4, .estimator = "rloo"}, 1, false},
    {"TRLOO", {&single, 3, .estimator = "trloo"}, 1, false},
    {"TRLOO, N 1", {&single, 1, .estimator = "trloo"}, 1, false},
    {"TRLOO, N 1, 0 for it", {&single, 1, .estimator = "trloo", .singleton_zero = true}, 1, true},
    {"ERLOO, one turn", {&single, 3, .estimator = "erloo"}, 1, false},
    {"GRPO, N 2", {&single, 2, .estimator = "grpo"}, 0, false},
    {"GRPO, N 4", {&single, 4, .estimator = "grpo"}, 0, false},
    {"GRPO is not ∇J", {&single, 4, .estimator = "grpo"}, 1, true},
    {"GRPO with deviation is not ∇J", {&single, 4, .estimator = "grpo_std"}, 1, true},
    {"GRPO with deviation is not (1 - 1/N) ∇J", {&single, 4, .estimator = "grpo_std"}, 0, true},

    {"REINFORCE, three turns", {&even, 2, .estimator = "return", .baseline = 0.7}, 1, false},
    {"TRLOO, three turns", {&even, 3, .estimator = "trloo"}, 1, false},
    {"GRPO, three turns", {&even, 3, .estimator = "grpo"}, 0, false},
    {"ERLOO, three turns: a turn's own rollout is in its baseline",
     .setup = {&even, 3, .estimator = "erloo"}, 1, true},
    {"RLOO, an outcome", {&outcome, 3, .estimator = "rloo"}, 1, false},
    {"GRPO of last turns, an outcome", {&outcome, 3, .estimator = "grpo_last"}, 0, false},
    {"RLOO, rewards on the way", {&even, 3, .estimator = "rloo"}, 1, true},

    {"REINFORCE, rollouts end early", {&uneven, 2, .estimator = "return"}, 1, false},
    {"TRLOO, rollouts end early", {&uneven, 3, .estimator = "trloo"}, 1, false},
    {"TRLOO, rollouts end early, N 4", {&uneven, 4, .estimator = "trloo"}, 1, false},
    {"GRPO, rollouts end early: no factor fits", {&uneven, 3, .estimator = "grpo"}, NAN, true},
    {"GRPO with deviation: no factor fits", {&even, 3, .estimator = "grpo_std"}, NAN, true},
    {"optimal baseline: itself is in it",
     .setup = {&single, 3, .estimator = "turn_optimal_baseline"}, 1, true},
    {"a counted divisor, all rollouts alike: a third of it, for three turns",
     .setup = {&even, 3, .estimator = "trloo", .counted = true}, 1. / 3, false},
    {"a counted divisor, rollouts end early: no factor fits",
     .setup = {&uneven, 3, .estimator = "trloo", .counted = true}, NAN, true},

    {"TRLOO, constant problems left out",
     .setup = {&single, 3, .estimator = "trloo", .filtered = true}, 1, false},
    {"TRLOO, three turns, constant problems left out",
     .setup = {&even, 3, .estimator = "trloo", .filtered = true}, 1, false},
    {"TRLOO, of two ways to the same return", {&tied, 2, .estimator = "trloo"}, 1, false},
    {"and left out: a turn alone counts for constant",
     .setup = {&tied, 2, .estimator = "trloo", .filtered = true}, NAN, true},
    {"TRLOO, a discount is of another objective",
     .setup = {&even, 3, .estimator = "trloo", .gamma = 0.4}, NAN, true},
    {"the best that still comes, too", {&even, 3, .estimator = "trloo", .rule = "max"}, NAN, true},
    {"kernel_rl: one total for all turns",
     .setup = {&even, 3, .estimator = "grpo_last", .rule = "kernel_rl", .gamma = 0.4}, NAN, true},

    {"off policy, as if it were not",
     .setup = {&single, 3, .estimator = "trloo", .sampler = behaviour}, 1, true},
    {"off policy, weights of turns",
     .setup = {&single, 3, .estimator = "trloo", .sampler = behaviour, .importance = RL_TURN}, 1,
     false},
    {"off policy, weights of tokens",
     .setup = {&single, 3, .estimator = "return", .sampler = behaviour, .importance = RL_TOKEN}, 1,
     false},
    {"off policy, truncated",
     .setup = {&single, 3, .estimator = "trloo", .sampler = behaviour, .importance = RL_TURN,
               .importance_upper = 1.1},
     1, true},
    {"off policy, rollouts",
     .setup = {&uneven, 3, .estimator = "trloo", .sampler = behaviour, .importance = RL_SEQUENCE},
     1, false},
    {"off policy, rollouts, REINFORCE",
     .setup = {&even, 2, .estimator = "return", .sampler = behaviour, .importance = RL_SEQUENCE}, 1,
     false},
    {"off policy, rollouts, GRPO",
     .setup = {&even, 3, .estimator = "grpo", .sampler = behaviour, .importance = RL_SEQUENCE}, 0,
     false},
    {"off policy, turns of rollouts",
     .setup = {&uneven, 3, .estimator = "trloo", .sampler = behaviour, .importance = RL_TURN}, 1,
     true},
    {"off policy, rollouts, truncated",
     .setup = {&uneven, 3, .estimator = "trloo", .sampler = behaviour, .importance = RL_SEQUENCE,
               .importance_upper = 1.1},
     1, true},
};

static void check(const char *what, const struct setup *setup, double factor, bool differs)
{
    double n = (double)setup->samples;
    double off = distance(setup, factor != 0 ? factor : 1 - 1 / n);
    if (differs ? off < APART : !(off < CLOSE))
        fail_msg("%s: off by %.3g", what, off);
}

TEST(expectations)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        check(rows[i].what, &rows[i].setup, rows[i].factor, rows[i].differs);
}

/* Whatever is credited, a baseline of others takes nothing away from REINFORCE's expectation, and
 * one of all the Nth part. */
TEST(baselines_are_no_bias)
{
    static const struct setup credits[] = {
        {&even, 3, .gamma = 0.4},
        {&uneven, 3, .gamma = 0.4},
        {&uneven, 3, .rule = "max"},
        {&even, 3, .rule = "turn"},
        {&uneven, 3, .sampler = behaviour, .importance = RL_SEQUENCE, .gamma = 0.4},
    };
    for (size_t i = 0; i < COUNT(credits); i++) {
        struct setup setup = credits[i];
        double plain[NODES], others[NODES], all[NODES];
        double grpo = setup.world == &even ? 2. / 3 : NAN;
        setup.estimator = "return";
        expected_gradient(&setup, plain);
        setup.estimator = "trloo";
        expected_gradient(&setup, others);
        setup.estimator = "grpo";
        expected_gradient(&setup, all);
        for (size_t n = 0; n < NODES; n++) {
            assert_true(fabs(others[n] - plain[n]) < CLOSE);
            assert_true(isnan(grpo) || fabs(all[n] - grpo * plain[n]) < CLOSE);
        }
    }
}

/* What optimal baselines are made of: no other constant has less variance than Σ e G / Σ e with the
 * e of rl/method/advantage.h, which knows probabilities alone; here the squares of scores. */
TEST(least_variance)
{
    struct setup setup = {&single, 2, .estimator = "return"};
    double weighted = 0, weights = 0, mean[NODES];
    for (size_t token = 0; token < 2; token++) {
        double p = probability(theta, 0, token);
        double e = 1 - 2 * p + p * p + (1 - p) * (1 - p);
        weighted += p * e * single.reward[0][token];
        weights += p * e;
    }
    setup.baseline = weighted / weights;
    double least = moments(&setup, mean);
    for (int i = -3; i <= 3; i++) {
        setup.baseline = weighted / weights + 0.05 * i;
        assert_true(i == 0 || moments(&setup, mean) > least + 1e-6);
    }
}

/* At the first node of `delay` the first token solves it at once, the second a turn later, as
 * surely. Nothing is to be learned there; kernel_rl's totals teach to wait. */
TEST(delay_is_paid_for)
{
    static const struct world delay = {.turns = 2,
                                       .ends = {{true, false}},
                                       .reward = {{1, 0}, {0, 0}, {1, 1}}};
    const struct setup repaired = {&delay, 3, .estimator = "trloo"};
    const struct setup discounted = {&delay, 3, .estimator = "trloo", .gamma = 0.4};
    const struct setup original = {&delay, 3, .estimator = "grpo_last", .rule = "kernel_rl",
                                   .gamma = 0.4};
    double gradient[NODES];
    expected_gradient(&repaired, gradient);
    assert_true(fabs(gradient[0]) < CLOSE);
    expected_gradient(&discounted, gradient);
    assert_true(gradient[0] < -APART); /* sooner is better */
    expected_gradient(&original, gradient);
    assert_true(gradient[0] > APART);
}

/* On policy, the first step of each loss that weighs by π/π_old is Σ A ∇log π. */
TEST(first_steps)
{
    static const char *const losses[] = {"importance_sampling", "ppo", "cispo", "dro"};
    for (size_t i = 0; i < COUNT(losses); i++) {
        struct setup setup = {&uneven, 3, .estimator = "trloo", .loss = loss_find(losses[i])};
        assert_non_null(setup.loss);
        check(losses[i], &setup, 1, false);
    }
    /* Off policy its ratio is the token's weight: right where a rollout is one token, unclipped. */
    struct setup off = {&single, 3, .estimator = "trloo", .sampler = behaviour,
                        .loss = loss_find("importance_sampling")};
    check("importance_sampling, off policy", &off, 1, false);
}

TEST(paths)
{
    static const struct {
        const struct world *world;
        size_t paths;
    } counts[] = {{&single, 2}, {&even, 8}, {&uneven, 4}};
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct path paths[PATHS];
        double sum = 0;
        size_t count = list_paths(counts[i].world, paths);
        assert_int_equal(count, counts[i].paths);
        for (size_t w = 0; w < count; w++)
            sum += path_probability(&paths[w], theta);
        assert_true(fabs(sum - 1) < 1e-12);
    }
}
