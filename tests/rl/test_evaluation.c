/* What held-out problems say: figures over everything that was asked for. */
#include "rl/collect/evaluation.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROBLEMS 3
#define SAMPLES 2
#define ROLLOUTS ((size_t)PROBLEMS * SAMPLES)

struct given {
    const char *problem;
    double speedup; /* of a correct turn; 0: wrong; -1: correct, not timed; NAN: not played; or */
};

#define UNJUDGED (-2.) /* its only turn is excluded */

static void fill(struct rl_rollout *rollouts, struct rl_turn *turns,
                 const struct given given[ROLLOUTS])
{
    for (size_t i = 0; i < ROLLOUTS; i++) {
        double speedup = given[i].speedup;
        turns[i] = (struct rl_turn){.record = json_pack("{s:s}", "status",
                                                        speedup != 0 ? "passed" : "wrong"),
                                    .reward = speedup != 0 ? 0.3 : 0,
                                    .correct = speedup != 0,
                                    .excluded = speedup == UNJUDGED,
                                    .speedup = speedup > 0 ? speedup : NAN,
                                    .compiled = true,
                                    .format_ok = true};
        rollouts[i] = (struct rl_rollout){.problem = given[i].problem,
                                          .task = i / SAMPLES,
                                          .sample = i % SAMPLES,
                                          .turns = &turns[i],
                                          .count = 1,
                                          .trajectory = isnan(speedup)
                                                            ? NULL
                                                            : json_pack("{s:f, s:s}", "return",
                                                                        turns[i].reward, "end",
                                                                        "turns")};
    }
}

static void release(struct rl_rollout *rollouts, struct rl_turn *turns)
{
    for (size_t i = 0; i < ROLLOUTS; i++) {
        json_decref(turns[i].record);
        json_decref(rollouts[i].trajectory);
    }
}

static const struct {
    struct given given[ROLLOUTS];
    struct {
        const char *name;
        double value; /* NAN: it is not there */
    } figures[12];
} rows[] = {
    {{{"level1/1", 2},
      {"level1/1", 0},
      {"level1/2", 0.5},
      {"level1/2", 0.8},
      {"level2/7", 0},
      {"level2/7", 0}},
     {{"eval/correct_rate", 3. / 6},
      {"eval/pass@1", 3. / 6},
      {"eval/pass@2", 2. / 3},
      {"eval/pass@5", NAN},
      {"eval/fast_1", 1. / 3},
      {"eval/fast_2", 1. / 3},
      {"eval/mean_speedup", 1.4},
      {"eval/geometric_mean_speedup", 1.2649110640673518},
      {"eval/return", 0.15},
      {"eval/level/1/correct_rate", 3. / 4},
      {"eval/level/2/correct_rate", 0},
      {"eval/compile_rate", 1}}},
    /* What was not played counts as not solved; what was not timed is correct all the same. */
    {{{"a", -1}, {"a", NAN}, {"b", NAN}, {"b", NAN}, {"c", 0}, {"c", 0}},
     {{"eval/correct_rate", 1. / 6},
      {"eval/fast_1", 0},
      {"eval/pass@1", 1. / 6},
      {"eval/mean_speedup", NAN},
      {"eval/problems", 3},
      {"eval/lost_samples", 3},
      {"eval/level/1/correct_rate", NAN}}},
    /* Where nothing was judged nothing is known; a level of its own may be known. */
    {{{"a", UNJUDGED}, {"a", NAN}, {"b", UNJUDGED}, {"b", UNJUDGED}, {"c", UNJUDGED}, {"c", NAN}},
     {{"eval/lost_samples", 6},
      {"eval/problems", 3},
      {"eval/correct_rate", NAN},
      {"eval/pass@1", NAN},
      {"eval/compile_rate", NAN},
      {"eval/fast_1", NAN},
      {"eval/return", NAN}}},
    {{{"level1/1", UNJUDGED},
      {"level1/1", UNJUDGED},
      {"level2/1", 2},
      {"level2/1", 0},
      {"x", 0},
      {"x", UNJUDGED}},
     {{"eval/lost_samples", 3},
      {"eval/correct_rate", 1. / 6},
      {"eval/level/1/lost_samples", 2},
      {"eval/level/1/correct_rate", NAN},
      {"eval/level/2/lost_samples", 0},
      {"eval/level/2/correct_rate", 0.5}}},
};

TEST(figures)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_rollout rollouts[ROLLOUTS];
        struct rl_turn turns[ROLLOUTS];
        json_t *metrics = json_object();
        fill(rollouts, turns, rows[i].given);
        evaluation_measure(rollouts, ROLLOUTS, SAMPLES, metrics);
        for (size_t k = 0; k < 12 && rows[i].figures[k].name; k++) {
            const json_t *found = json_object_get(metrics, rows[i].figures[k].name);
            double wanted = rows[i].figures[k].value;
            if (isnan(wanted) ? found != NULL
                              : !found || fabs(json_number_value(found) - wanted) > 1e-12)
                fail_msg("row %zu: %s is %g", i, rows[i].figures[k].name, json_number_value(found));
        }
        json_decref(metrics);
        release(rollouts, turns);
    }
}

TEST(file)
{
    static const struct given given[ROLLOUTS] = {{"a", 1}, {"a", NAN}, {"b", 1},
                                                 {"b", 1}, {"c", 0},   {"c", 0}};
    struct rl_rollout rollouts[ROLLOUTS];
    struct rl_turn turns[ROLLOUTS];
    struct err err;
    char *path = support_text("%s/trajectories.jsonl", support_directory()), *text = NULL;
    size_t count = 0, lines = 0;
    fill(rollouts, turns, given);
    assert_ok(evaluation_write(rollouts, ROLLOUTS, path, &err), &err);
    assert_ok(file_read(path, 1 << 20, &text, &count, &err), &err);
    for (const char *at = text ? text : ""; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, ROLLOUTS - 1);
    mem_free(text);
    assert_true(evaluation_write(rollouts, ROLLOUTS, "/nonexistent/x", &err) < 0);
    assert_non_null(strstr(err.text, "/nonexistent/x"));
    release(rollouts, turns);
}
