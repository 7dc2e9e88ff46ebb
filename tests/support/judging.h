/* judging: what tests that judge whole problems share: problems and candidates in a directory of
 * their own, a judge with its settings, verdicts in one line. Every function fails the running test
 * itself where something goes wrong, and none may be called from another thread. */
#pragma once

#include "base/settings.h"
#include "judge/evaluate.h"

#include <sys/types.h>

/* y = f(x): a problem's lines behind its summary, and the head of its solutions. */
#define JUDGING_YAML(check, time)                                                                  \
    "signature: void solution(const float *x, float *y, size_t n)\n"                               \
    "arguments:\n"                                                                                 \
    "  x: {role: in, type: f32, shape: [n], fill: normal}\n"                                       \
    "  y: {role: out, type: f32, shape: [n]}\n"                                                    \
    "  n: {role: size}\n"                                                                          \
    "tolerance: {relative: 1.0e-5}\ncheck: " check "\ntime: " time "\n"
#define JUDGING_HEAD "#include <stddef.h>\nvoid solution(const float *x, float *y, size_t n)\n{\n"

/* A problem, its candidates and an evaluation of one, as JSON: y = 2 x. */
#define DOUBLE_HEAD "#include <stddef.h>\\nvoid solution(const float *x, float *y, size_t n)\\n"
#define DOUBLE_RIGHT DOUBLE_HEAD "{ for (size_t i = 0; i < n; i++) y[i] = 2 * x[i]; }\\n"
#define DOUBLE_ENDLESS DOUBLE_HEAD "{ for (volatile int i = 0;; i++) {} }\\n"
#define DOUBLE_YAML                                                                                \
    "name: double\\nsummary: Twice.\\nsignature: void solution(const float *x, float *y, size_t "  \
    "n)\\n"                                                                                        \
    "arguments:\\n  x: {role: in, type: f32, shape: [n], fill: normal}\\n"                         \
    "  y: {role: out, type: f32, shape: [n]}\\n  n: {role: size}\\n"                               \
    "tolerance: {relative: 1.0e-5}\\ncheck: [{n: 100}]\\ntime: [{n: 4096}]\\n"
#define DOUBLE_PROBLEM(yaml)                                                                       \
    "\"problem\": {\"format\": \"native\", \"yaml\": \"" yaml "\", \"source\": \"" DOUBLE_RIGHT    \
    "\"}"
#define DOUBLE_REQUEST(candidate, rest)                                                            \
    "{" DOUBLE_PROBLEM(DOUBLE_YAML) ", \"candidate\": {\"source\": \"" candidate                   \
                                    "\"}, \"timing\": false" rest "}"

/* What a test program judges with, between judging_begin and judging_end: correctness only. */
extern struct judging {
    char *place; /* directory of problems, cache and state */
    struct settings settings;
    _Atomic int cancelled;
    struct judge *judge;
    struct session *session;
} judging;

/* `words`: settings, NULL-terminated; NULL: none. */
void judging_begin(const char *const *words);
/* A teardown. */
int judging_end(void **state);

/* Settings whose cache lies in `directory`, so that nothing outside of it is written. */
void judging_settings(struct settings *settings, const char *directory);
struct judge *judging_open(const struct judge_options *options);

/* Writes DIRECTORY/NAME/problem.yaml and reference.c and loads them. `yaml` lacks its first two
 * lines, name and summary. */
void judging_problem(struct problem *problem, const char *directory, const char *name,
                     const char *yaml, const char *reference);

struct candidate judging_candidate(const char *path, const char *text);

/* What becomes of a text, which is printed unless it passes. */
enum verdict_status judging_status(struct session *session, const struct problem *problem,
                                   const char *path, const char *text);

/* Each system call of `names`, with spaces between, is refused in the sandbox in which `make` calls
 * the one of that number and returns what came of it. */
void judging_assert_refused(const char *(*make)(const char *number), const char *names);

/* Descriptors that this process has open; its children, at most so many of them. */
int judging_descriptors(void);
size_t judging_children(pid_t *pids, size_t most);

/* "wrong (wrong: y: 3 of 4 elements are wrong…)"; a static buffer. */
const char *judging_summary(const struct verdict *verdict);
