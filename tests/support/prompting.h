/* prompting: what the tests of prompts share. */
#pragma once

#include "gym/prompt/prompt.h"

/* Ours, or with a user's directory before them; fails the test otherwise. */
struct prompts *prompting_open(const char *directory);
/* prompts/specimens/specimens.json; the test's. */
json_t *prompting_specimens(void);
/* The facts of a specimen with that status, borrowed; `nth` of those, from 0. */
const json_t *prompting_facts(const json_t *specimens, const char *status, size_t nth);
/* One of our problems; the test's. */
json_t *prompting_problem(const char *id);

/* Of message `index`; fails the test where there is none. */
const char *prompting_role(const json_t *messages, size_t index);
const char *prompting_text(const json_t *messages, size_t index);
/* All texts hold these marks in this order; the last one is NULL. */
void prompting_in_order(const char *text, const char *const *marks);
