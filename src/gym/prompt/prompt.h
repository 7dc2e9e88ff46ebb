/* prompt: the messages of a turn, made of template files (docs/reference/prompts.md).
 *
 * A style is a directory prompts/STYLE with system.txt (may be missing), first.txt, later.txt,
 * feedback.txt and style.json (may be missing); a language is prompts/LANGUAGE with language.json,
 * what it wants (rules.txt, …) and worked examples; prompts/parts is what styles share. A user's
 * own directory (setting prompts.path) is looked in first, file by file.
 *
 *   warpgym    ours: system, task, growing history of answers and feedback
 *   kevin      kernel_rl's multi-turn form: each turn rebuilt as one system and one user message
 *              that shows the last attempt only
 *   drkernel   one user message, then answers and feedback as JSON
 *
 * Token budget: an estimate of 1 token for each PROMPT_BYTES_PER_TOKEN bytes. When a conversation
 * is above it, the oldest turns go first (answer and feedback together), then examples (retrieved
 * ones, the least like first; then our own), then all of the last answer but its code; never the
 * system message, the task or the last feedback: where these alone are too much, ERR_LIMIT.
 *
 * No example is given whose problem is the asked one, or a withheld one, or whose reference is its
 * text.
 *
 * Threads: a struct prompts is immutable once open and told what to withhold.
 */
#ifndef WARPGYM_GYM_PROMPT_PROMPT_H
#define WARPGYM_GYM_PROMPT_PROMPT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/settings.h"
#include "problem/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROMPT_SHOTS_MAX 3
#define PROMPT_BYTES_PER_TOKEN 3 /* of code; prose has more: the estimate is rather too high */
#define PROMPT_MESSAGE_TOKENS 4  /* that a chat template puts around each */

struct prompts;

/* How a conversation is told; part of an episode's configuration, as JSON under "prompt". */
struct prompt_options {
    const char *style;    /* "warpgym" */
    const char *language; /* what is to be written: "c", "cuda", "torch-cuda", "triton" */
    int64_t shots;        /* worked examples of our own, 0 to 3 */
    bool thinking;        /* ask for a thinking block before the code */
    int64_t token_budget; /* of the whole conversation; 0: no bound */
};

/* A turn that is over, as the history needs it. */
struct prompt_turn {
    const char *answer;         /* as the model wrote it */
    const char *thought, *code; /* parsed; code NULL: none */
    const json_t *facts;        /* feedback_facts */
    double reward;
};

/* `settings`: prompts.path. Reads every template once and checks it. */
NODISCARD int prompts_open(struct prompts **out, const struct settings *settings, struct err *err);
void prompts_close(struct prompts *prompts);
/* From now on no example is of this problem, whichever is asked. */
void prompts_withhold(struct prompts *prompts, const char *id, const char *reference);
/* ERR_INPUT with the nearest style or language. */
NODISCARD int prompts_check(const struct prompts *prompts, const struct prompt_options *options,
                            struct err *err);

/* What the templates may say of a problem: id, summary, signature, reference, sizes timed, types
 * (precision), entry point, … No check or secret sizes, no tolerance in numbers. A new reference.
 */
json_t *prompt_problem(const struct problem *problem);

/* What they may say of the machine that judges: "name", "kind" (cpu, cuda), cores, memory, peaks,
 * compute capability, compiler and its flags, from what `warpgym doctor` knows. Measures nothing,
 * so that it takes milliseconds. A new reference. */
json_t *prompt_device(const struct settings *settings);

/* [{"role", "content"}, …] of the next turn, a new reference. `device` NULL or without keys:
 * nothing is known of it. `examples`: retrieval_search's list, or NULL. ERR_INPUT: options, a
 * language that does not solve such problems, a template that asks for what is not there;
 * ERR_LIMIT. */
NODISCARD int prompts_messages(const struct prompts *prompts, const struct prompt_options *options,
                               const json_t *problem, const json_t *device, const json_t *examples,
                               const struct prompt_turn *turns, size_t turn_count,
                               json_t **messages, struct err *err);
/* The text of the feedback for one turn alone, as the style words it. The caller's (mem_free). */
NODISCARD int prompts_feedback(const struct prompts *prompts, const struct prompt_options *options,
                               const struct prompt_turn *turn, char **text, struct err *err);
/* Estimated tokens of messages. */
int64_t prompt_tokens(const json_t *messages);
/* Renders first and later turns of every style in every language with specimen facts
 * (prompts/specimens), which tells what reading alone can't: a name that there is not, an include
 * that is missing. */
NODISCARD int prompts_try(const struct prompts *prompts, struct err *err);
/* A line for each file of the user's own directory: whether it takes the place of one of ours.
 * Returns how many. */
size_t prompts_describe(const struct prompts *prompts, struct buf *out);

#endif
