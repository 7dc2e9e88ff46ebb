/* prompting: what the tests of prompts share. */
#pragma once

#include "gym/prompt/prompt.h"

/* Ours, or with a user's directory before them; fails the test otherwise. */
struct prompts *prompting_open(const char *directory);
/* What these return is kept until the program ends. */

/* prompts/samples/samples.json. */
const json_t *prompting_samples(void);
/* The facts of a sample with that status; `nth` of those, from 0. */
const json_t *prompting_facts(const char *status, size_t nth);
/* The facts of one of our problems. */
const json_t *prompting_problem(const char *id);
/* prompts_messages; fails the test where there are none. */
const json_t *prompting_messages(const struct prompts *prompts,
                                 const struct prompt_options *options, const json_t *problem,
                                 const json_t *device, const json_t *examples,
                                 const struct prompt_turn *turns, size_t count);

/* Of message `index`; fails the test where there is none. */
const char *prompting_role(const json_t *messages, size_t index);
const char *prompting_text(const json_t *messages, size_t index);
/* All texts hold these marks in this order; the last one is NULL. */
void prompting_in_order(const char *text, const char *const *marks);
