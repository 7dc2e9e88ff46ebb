/* prompt: the messages of a turn, made from template files (docs/reference/prompts.md).
 *
 * A style is a directory prompts/STYLE with system.txt (optional), first.txt, later.txt,
 * feedback.txt and style.json (optional); a language is prompts/LANGUAGE with language.json, its
 * texts (rules.txt, …) and worked examples; prompts/parts is shared by styles. A user's own
 * directory (setting prompts.path) is searched first, file by file.
 *
 *   warpgym    the default: system, task, growing history of answers and feedback
 *   kevin      kernel_rl's multi-turn form: each turn rebuilt as one system and one user message
 *              that shows the last attempt only
 *   drkernel   one user message, then answers and feedback as JSON
 *
 * fit.h says what a conversation omits to fit its token budget.
 *
 * No example is shown whose problem is the requested one, or a withheld one, or whose reference is
 * its text.
 *
 * Ownership: as said below. Threads: a struct prompts is immutable after prompts_open and
 * prompts_withhold.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/settings.h"
#include "problem/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROMPT_SHOTS_MAX 3

struct gpu;
struct prompts;

/* The form of a conversation; part of an episode's configuration, as JSON under "prompt". */
struct prompt_options {
    const char *style;    /* "warpgym" */
    const char *language; /* of the candidate: a name of language.h, or of prompts.path */
    int64_t shots;        /* built-in worked examples, 0 to 3 */
    bool thinking;        /* request a thinking block before the code */
    int64_t token_budget; /* of the whole conversation; 0: no bound */
};

/* A finished turn, for the history. */
struct prompt_turn {
    const char *answer;         /* as the model wrote it */
    const char *thought, *code; /* parsed; code NULL: none */
    const json_t *facts;        /* feedback_facts */
    double reward;
};

/* `settings`: prompts.path. Reads every template once and checks it. */
/* ERR_INPUT: there is no such style; ERR_MISSING: `path` ("": none) is not a directory. Without
 * installed prompts, which most commands do not need, nothing is known of styles. */
NODISCARD int prompts_check_style(const char *path, const char *style, struct err *err);
NODISCARD int prompts_open(struct prompts **out, const struct settings *settings, struct err *err);
void prompts_close(struct prompts *prompts);
/* No later prompt shows an example of this problem. */
void prompts_withhold(struct prompts *prompts, const char *id, const char *reference);
/* ERR_INPUT with the nearest style or language. */
NODISCARD int prompts_check(const struct prompts *prompts, const struct prompt_options *options,
                            struct err *err);

/* What templates may say about a problem: id, summary, signature, reference, timed sizes, types
 * (precision), entry point, … No check or secret sizes, no numeric tolerance. A new reference. */
json_t *prompt_problem(const struct problem *problem);

/* What templates may say about this machine: "name", "kind" (cpu, cuda), cores, memory, peaks,
 * compute capability, compiler and its flags, from the facts of `warpgym doctor`; with the GPU
 * `named` in place of its own (NULL: its own). Measures nothing, so that it takes milliseconds. A
 * new reference. */
json_t *prompt_device(const struct settings *settings, const struct gpu *named);
/* The same about the machine that judges, by the registrations of workers (docs/guide/serve.md,
 * untrusted): `own` where one of them is here or there is none, else their most frequent GPU and
 * what is known of it. A new reference. */
json_t *prompt_device_of(const json_t *own, const json_t *workers);

/* [{"role", "content"}, …] of the next turn, a new reference. `device` NULL or without keys:
 * unknown. `examples`: retrieval_search's list, or NULL. ERR_INPUT: invalid options, a language
 * that does not solve such problems, a template that uses a missing value; ERR_LIMIT. */
NODISCARD int prompts_messages(const struct prompts *prompts, const struct prompt_options *options,
                               const json_t *problem, const json_t *device, const json_t *examples,
                               const struct prompt_turn *turns, size_t turn_count,
                               json_t **messages, struct err *err);
/* The text of one turn's feedback in that style. The caller's (mem_free). */
NODISCARD int prompts_feedback(const struct prompts *prompts, const struct prompt_options *options,
                               const struct prompt_turn *turn, char **text, struct err *err);
/* Renders first and later turns of every style in every language with sample facts
 * (prompts/samples), which finds errors that parsing cannot: an unknown name, a missing
 * include. */
NODISCARD int prompts_try(const struct prompts *prompts, struct err *err);
/* A line for each file of the user's own directory: whether it replaces a built-in one. Returns how
 * many. */
size_t prompts_describe(const struct prompts *prompts, struct buf *out);
