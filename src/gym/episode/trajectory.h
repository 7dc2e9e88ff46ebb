/* trajectory: reads finished episodes from trajectories.jsonl (docs/reference/trajectories.md).
 *
 * For all consumers of rollouts: the report, SFT, rejection sampling. One line at a time is in
 * memory. A missing key has an empty value ("", 0, false), a key of another type is an error with
 * FILE:LINE and the key; unknown keys are ignored. An incomplete last line without newline is what
 * a killed writer left: it ends the file, and trajectory_next reports it.
 *
 * Ownership: a struct trajectory owns its JSON; its strings live as long (trajectory_deinit).
 * Threads: a file is read by one at a time.
 * Errors: ERR_MISSING (no such file), ERR_INPUT, ERR_LIMIT (a line, the turns of an episode),
 * ERR_UNSUPPORTED (a newer schema), ERR_IO.
 */
#pragma once

#include "base/err.h"
#include "base/lines.h"
#include "judge/verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAJECTORY_FILE "trajectories.jsonl" /* in the directory of a run */
#define TRAJECTORY_SCHEMA 1

/* X(kind, member, key): kinds are text, whole, number, flag, list, object; numbers are double,
 * lists and objects borrowed, NULL where they are missing. */
#define TRAJECTORY_FIELDS(X)                                                                       \
    X(text, episode, "episode")                                                                    \
    X(text, problem, "problem")                                                                    \
    X(text, problem_format, "problem_format")                                                      \
    X(text, problem_hash, "problem_hash")                                                          \
    X(text, level, "level")                                                                        \
    X(text, category, "category")                                                                  \
    X(whole, sample, "sample")                                                                     \
    X(whole, iteration, "iteration")                                                               \
    X(text, policy, "policy")                                                                      \
    X(text, model, "model")                                                                        \
    X(text, language, "language")                                                                  \
    X(text, style, "style")                                                                        \
    X(text, reward_preset, "reward_preset")                                                        \
    X(number, gamma, "gamma")                                                                      \
    X(number, stop_speedup, "stop_speedup")                                                        \
    X(whole, max_turns, "max_turns")                                                               \
    X(flag, solved, "solved")                                                                      \
    X(text, end, "end")                                                                            \
    X(whole, best_turn, "best_turn")                                                               \
    X(number, best_speedup, "best_speedup")                                                        \
    X(number, first_return, "return")                                                              \
    X(list, messages, "messages")                                                                  \
    X(text, started_at, "started_at")                                                              \
    X(text, ended_at, "ended_at")

#define TRAJECTORY_TURN_FIELDS(X)                                                                  \
    X(whole, turn, "turn")                                                                         \
    X(list, prompt, "prompt")                                                                      \
    X(text, answer, "answer")                                                                      \
    X(text, reasoning, "reasoning")                                                                \
    X(text, thought, "thought")                                                                    \
    X(text, code, "code")                                                                          \
    X(text, finish, "finish")                                                                      \
    X(flag, format_ok, "format_ok")                                                                \
    X(flag, compiled, "compiled")                                                                  \
    X(flag, correct, "correct")                                                                    \
    X(flag, excluded, "excluded")                                                                  \
    X(list, violations, "violations")                                                              \
    X(text, status, "status")                                                                      \
    X(number, speedup, "speedup")                                                                  \
    X(number, speedup_low, "speedup_low")                                                          \
    X(number, speedup_high, "speedup_high")                                                        \
    X(number, reward, "reward")                                                                    \
    X(number, turn_return, "return")                                                               \
    X(object, reward_parts, "reward_parts")                                                        \
    X(flag, keep, "keep")                                                                          \
    X(text, feedback, "feedback")                                                                  \
    X(object, usage, "usage")                                                                      \
    X(list, logprobs, "logprobs")                                                                  \
    X(list, tokens, "tokens")                                                                      \
    X(number, answer_ms, "answer_ms")                                                              \
    X(number, judge_ms, "judge_ms")                                                                \
    X(text, evaluation, "evaluation")                                                              \
    X(object, verdict, "verdict")

#define TRAJECTORY_TYPE_text const char *
#define TRAJECTORY_TYPE_whole int64_t
#define TRAJECTORY_TYPE_number double
#define TRAJECTORY_TYPE_flag bool
#define TRAJECTORY_TYPE_list json_t *
#define TRAJECTORY_TYPE_object json_t *
#define TRAJECTORY_MEMBER(kind, member, key) TRAJECTORY_TYPE_##kind member;

struct trajectory_turn {
    TRAJECTORY_TURN_FIELDS(TRAJECTORY_MEMBER)
};

struct trajectory {
    TRAJECTORY_FIELDS(TRAJECTORY_MEMBER)
    struct trajectory_turn *turns;
    size_t turn_count;
    json_t *json; /* all of it */
};

/* Parses one line of `name`. Nothing is to be freed after an error. */
NODISCARD int trajectory_parse(struct trajectory *trajectory, const char *name, size_t line,
                               const char *text, size_t count, struct err *err);
/* The same of JSON, which it owns from then on, after an error too. */
NODISCARD int trajectory_take(struct trajectory *trajectory, json_t *json, const char *name,
                              size_t line, struct err *err);
void trajectory_deinit(struct trajectory *trajectory);

/* The verdict in a turn's record. False: there is none. verdict_deinit in both cases. */
bool trajectory_verdict(const json_t *record, struct verdict *verdict);
/* Of a record that says nothing of its candidate, why: the judge's message, or else the status. */
void trajectory_why(const json_t *record, char *why, size_t why_bytes);

/* `path`: a file, or the directory of a run that holds TRAJECTORY_FILE. lines_close. */
NODISCARD int trajectory_open(struct lines **out, const char *path, struct err *err);
/* 1: read; 0: the end, *trajectory is untouched, and *cut says whether a part of a line is left
 * there; negative: an error. */
NODISCARD int trajectory_next(struct lines *lines, struct trajectory *trajectory, bool *cut,
                              struct err *err);
/* The same without reading it as an episode: *json is the caller's. */
NODISCARD int trajectory_next_line(struct lines *lines, json_t **json, bool *cut, struct err *err);
