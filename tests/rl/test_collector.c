/* Episodes of a step: real prompts and problems, a training backend and a judge that are made
 * up. */
#include "rl/collect/collector.h"

#include "../support/fake_train_backend.h"
#include "../support/gym_fixture.h"
#include "../support/test.h"
#include "client/evaluator.h"

#include <time.h>

#define TASKS 3
#define SAMPLES 2
#define CODE "```c\nvoid solution(const float *x, float *y, size_t n)\n{\n    /* %llu */\n}\n```"

/* What the judge is like. */
enum mood { KIND, AWAY_TWICE, AWAY, LOST, ABROAD };

struct evaluator {
    pthread_mutex_t lock;
    enum mood mood;
    size_t asked;
};

int evaluator_open_local(struct evaluator **out, const struct evaluator_options *options,
                         struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "a fake");
}

int evaluator_open_remote(struct evaluator **out, const char *url,
                          const struct evaluator_options *options, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "a fake");
}

void evaluator_close(struct evaluator *evaluator)
{
}

size_t evaluator_capacity(const struct evaluator *evaluator)
{
    return 1;
}

/* Right is a candidate whose number, that of its seed, is even. */
int evaluator_evaluate(struct evaluator *evaluator, const json_t *request, struct verdict *verdict,
                       struct err *err)
{
    const char *source = json_text_at(json_object_get(request, "candidate"), "source");
    const char *number = strstr(source, "/* ");
    pthread_mutex_lock(&evaluator->lock);
    size_t asked = ++evaluator->asked;
    pthread_mutex_unlock(&evaluator->lock);
    verdict_init(verdict);
    if (evaluator->mood == AWAY || (evaluator->mood == AWAY_TWICE && asked <= 2))
        return err_set(err, ERR_IO, "no answer there");
    if (evaluator->mood == ABROAD)
        return err_set(err, ERR_INPUT, "no such problem there");
    if (evaluator->mood == LOST) {
        verdict->status = STATUS_INFRASTRUCTURE_ERROR;
        return 0;
    }
    bool right = number && strtoull(number + 3, NULL, 10) % 2 == 0;
    verdict->status = right ? STATUS_PASSED : STATUS_WRONG;
    verdict->compiled = true;
    verdict->correct = right;
    verdict->trials = 3;
    verdict->trials_passed = right ? 3 : 0;
    verdict->own_time_fraction = 0.25;
    verdict->launched.calls = 1;
    verdict->launched.time_us = 100;
    verdict->launched.text = "";
    verdict->kernel_count = 3;
    verdict->kernels[0] = (struct kernel_share){
        .name = "add_kernel", .source = "", .time_us = 25, .occupancy = NAN, .own = true};
    verdict->kernels[1] = (struct kernel_share){.name = "functor<Add_Kernel>",
                                                .source = "",
                                                .time_us = 50,
                                                .occupancy = NAN};
    verdict->kernels[2] =
        (struct kernel_share){.name = "sgemm", .source = "", .time_us = 25, .occupancy = NAN};
    return 0;
}

int evaluator_evaluate_until(struct evaluator *evaluator, const json_t *request,
                             const _Atomic int *stop, struct verdict *verdict, struct err *err)
{
    return evaluator_evaluate(evaluator, request, verdict, err);
}

static int write_code(struct train_backend *backend, const struct train_backend_sampling *sampling,
                      char **text, struct err *err)
{
    *text = mem_printf(CODE, (unsigned long long)sampling->seed);
    return 0;
}

static int write_prose(struct train_backend *backend, const struct train_backend_sampling *sampling,
                       char **text, struct err *err)
{
    *text = mem_strdup("I have no idea.");
    return 0;
}

static int refuse(struct train_backend *backend, const struct train_backend_sampling *sampling,
                  char **text, struct err *err)
{
    return err_set(err, ERR_LIMIT, "too long a prompt");
}

/* Every second question is too long: of an episode's second turn, one job at a time. */
static int refuse_later(struct train_backend *backend,
                        const struct train_backend_sampling *sampling, char **text, struct err *err)
{
    return backend->samples % 2 == 0 ? refuse(backend, sampling, text, err)
                                     : write_code(backend, sampling, text, err);
}

static int stumble(struct train_backend *backend, const struct train_backend_sampling *sampling,
                   char **text, struct err *err)
{
    return backend->samples == 1 ? err_set(err, ERR_TIMEOUT, "no answer")
                                 : write_code(backend, sampling, text, err);
}

static struct world {
    struct train_backend backend;
    struct evaluator evaluator;
    struct collector *collector;
    const struct rl_rollout *rollouts;
    size_t count;
    struct err err;
    size_t turns_reported;
} world; /* of one test, or of a row */

static void count_turn(void *context, const struct rl_rollout *rollout, const struct rl_turn *turn)
{
    assert_non_null(rollout->problem);
    assert_non_null(turn->record);
    world.turns_reported++;
}

struct scenario {
    int (*say)(struct train_backend *, const struct train_backend_sampling *, char **,
               struct err *);
    enum mood mood;
    size_t jobs, first_task;
    int64_t turns, wait_ms;
    const char *reward; /* NULL: kevin */
    uint64_t seed;
    const _Atomic int *cancelled;
};

FIXTURE(end)
{
    collector_free(world.collector);
    pthread_mutex_destroy(&world.backend.lock);
    pthread_mutex_destroy(&world.evaluator.lock);
    world = (struct world){0};
    return 0;
}
TEST_EACH(NULL, end);

static int start(const struct scenario *scenario)
{
    static const char *const problems[TASKS] = {"relu", "softmax", "gemm"};
    json_t *tasks = json_array();
    end(NULL);
    world.backend = (struct train_backend){.say = scenario->say, .version = 7};
    world.evaluator.mood = scenario->mood;
    pthread_mutex_init(&world.backend.lock, NULL);
    pthread_mutex_init(&world.evaluator.lock, NULL);
    for (size_t i = 0; i < TASKS; i++)
        json_array_append_new(tasks, json_pack("{s:{s:s}}", "problem", "id", problems[i]));
    json_t *configuration = json_pack("{s:I, s:s, s:f}", "turns", (json_int_t)scenario->turns,
                                      "reward", scenario->reward ? scenario->reward : "kevin",
                                      "gamma", 1.0);
    const struct collector_options options = {.gym = gym,
                                              .backend = &world.backend,
                                              .evaluator = &world.evaluator,
                                              .configuration = configuration,
                                              .sampling = {.temperature = 1, .top_p = 1},
                                              .seed = scenario->seed,
                                              .step = 5,
                                              .name = "test",
                                              .tasks = tasks,
                                              .first_task = scenario->first_task,
                                              .samples = SAMPLES,
                                              .jobs = scenario->jobs,
                                              .wait_ms = scenario->wait_ms,
                                              .cancelled = scenario->cancelled,
                                              .on_turn = count_turn};
    int result = collector_start(&world.collector, &options, &world.err);
    json_decref(configuration);
    json_decref(tasks);
    return result;
}

static int run_scenario(const struct scenario *scenario)
{
    int result = start(scenario);
    return result < 0 ? result
                      : collector_wait(world.collector, &world.rollouts, &world.count, &world.err);
}

TEST(rollouts)
{
    const struct scenario scenario = {.say = write_code, .jobs = 3, .turns = 2, .first_task = 4};
    assert_int_equal(run_scenario(&scenario), 0);
    assert_int_equal(world.count, TASKS * SAMPLES);
    assert_int_equal(world.turns_reported, world.count * 2);
    for (size_t i = 0; i < world.count; i++) {
        const struct rl_rollout *rollout = &world.rollouts[i];
        assert_int_equal(rollout->task, 4 + i / SAMPLES);
        assert_int_equal(rollout->sample, i % SAMPLES);
        assert_int_equal(rollout->count, 2);
        assert_non_null(rollout->trajectory);
        for (size_t t = 0; t < 2; t++) {
            const struct rl_turn *turn = &rollout->turns[t];
            assert_true(turn->prompt.count > 0 && turn->answer.count > 0);
            assert_int_equal(turn->answer.version, 7);
            assert_true(turn->compiled && turn->format_ok && !turn->excluded && !turn->cut);
            assert_true(turn->reward == (turn->correct ? 0.3 : 0));
            assert_true(turn->coverage == 0.25 && isnan(turn->speedup));
            assert_int_equal(json_integer_value(json_object_get(turn->record, "turn")), t);
        }
        assert_int_equal(json_integer_value(json_object_get(rollout->trajectory, "sample")),
                         i % SAMPLES);
    }
    assert_string_equal(world.rollouts[0].problem, "relu");
}

/* One setting for the reward and for what rejects lazy turns. */
TEST(coverage)
{
    static const struct {
        const char *measure;
        double coverage;
    } rows[] = {{"time", 0.25}, {"named_time", 0.75}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct scenario scenario = {.say = write_code,
                                          .jobs = 2,
                                          .turns = 2,
                                          .reward = "drkernel"};
        struct err err = {0};
        char *pair = mem_printf("gym.coverage=%s", rows[i].measure);
        size_t correct = 0;
        assert_int_equal(settings_assign(&settings, pair, &err), 0);
        assert_int_equal(run_scenario(&scenario), 0);
        for (size_t r = 0; r < world.count; r++)
            for (size_t t = 0; t < 2; t++) {
                const struct rl_turn *turn = &world.rollouts[r].turns[t];
                assert_true(turn->coverage == rows[i].coverage);
                assert_true(turn->reward == (turn->correct ? 0.5 + 0.5 * rows[i].coverage : 0));
                correct += turn->correct;
            }
        assert_true(correct > 0);
        mem_free(pair);
    }
    struct err err = {0};
    assert_int_equal(settings_assign(&settings, "gym.coverage=times", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "gym.coverage: unknown value 'times'"));
    assert_int_equal(settings_assign(&settings, "gym.coverage=time", &err), 0);
}

static void read_answers(const struct scenario *scenario, const char *texts[TASKS * SAMPLES][2])
{
    assert_int_equal(run_scenario(scenario), 0);
    assert_int_equal(world.count, TASKS * SAMPLES);
    for (size_t i = 0; i < world.count; i++)
        for (size_t t = 0; t < 2; t++)
            texts[i][t] = support_text("%s", world.rollouts[i].turns[t].answer.text);
}

/* Whatever runs beside an episode, and in whatever order. */
TEST(answers_depend_on_their_numbers_alone)
{
    const char *one[TASKS * SAMPLES][2], *other[TASKS * SAMPLES][2], *another[TASKS * SAMPLES][2];
    struct scenario scenario = {.say = write_code, .jobs = 1, .turns = 2};
    read_answers(&scenario, one);
    scenario.jobs = 6;
    read_answers(&scenario, other);
    scenario.seed = 1;
    read_answers(&scenario, another);
    for (size_t i = 0; i < TASKS * SAMPLES; i++)
        for (size_t t = 0; t < 2; t++) {
            assert_string_equal(one[i][t], other[i][t]);
            assert_string_not_equal(one[i][t], another[i][t]);
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(one[i][t], one[k][t]);
        }
}

TEST(outcomes)
{
    static const struct {
        struct scenario scenario;
        int result;
        size_t turns; /* of each episode */
        bool played, excluded;
        const char *why;
    } rows[] = {
        {{.say = write_code, .mood = AWAY_TWICE, .wait_ms = 60000}, 0, 2, true, false, ""},
        {{.say = write_code, .mood = AWAY, .wait_ms = 30},
         ERR_IO,
         0,
         false,
         false,
         "no answer there"},
        {{.say = write_code, .mood = AWAY}, ERR_IO, 0, false, false, "no answer there"},
        {{.say = stumble, .wait_ms = 60000}, 0, 2, true, false, ""},
        {{.say = stumble}, ERR_TIMEOUT, 0, false, false, "no answer"},
        {{.say = write_prose}, 0, 2, true, false, ""},
        {{.say = write_code, .mood = LOST}, 0, 1, true, true, ""},
        {{.say = write_code, .mood = ABROAD}, 0, 0, false, false, "no such problem there"},
        {{.say = refuse}, 0, 0, false, false, "too long a prompt"},
        {{.say = refuse_later}, 0, 1, true, false, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct scenario scenario = rows[i].scenario;
        scenario.jobs = 1;
        scenario.turns = 2;
        int result = run_scenario(&scenario);
        if (result != rows[i].result)
            fail_msg("row %zu: %d, %s", i, result, world.err.text);
        if (result < 0)
            assert_string_equal(world.err.text, rows[i].why);
        for (size_t r = 0; result == 0 && r < world.count; r++) {
            const struct rl_rollout *rollout = &world.rollouts[r];
            if (rollout->count != rows[i].turns || !!rollout->trajectory != rows[i].played)
                fail_msg("row %zu, rollout %zu: %zu turns, %s", i, r, rollout->count,
                         rollout->why.text);
            assert_string_equal(rollout->why.text, rows[i].why);
            for (size_t t = 0; t < rollout->count; t++)
                assert_int_equal(rollout->turns[t].excluded, rows[i].excluded);
        }
    }
}

TEST(interrupted)
{
    const _Atomic int cancelled = 1;
    const struct scenario scenario = {.say = write_code,
                                      .jobs = 2,
                                      .turns = 2,
                                      .cancelled = &cancelled};
    assert_int_equal(run_scenario(&scenario), ERR_CANCELLED);
    assert_int_equal(world.backend.samples, 0);
}

/* A judge that never answers does not hold up a caller that frees the collector. */
TEST(given_up)
{
    const struct scenario scenario = {
        .say = write_code, .mood = AWAY, .jobs = 1, .turns = 1, .wait_ms = 3600000};
    assert_int_equal(start(&scenario), 0);
}
