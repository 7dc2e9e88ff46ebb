/* learned: a small tokenizer. Failures fail the test.
 *
 *   TEST_EACH(learned_begin, learned_end);
 *
 * begins the scratch directory (scratch.h), too, where the tokenizer's files are then.
 */
#pragma once

#include "lm/tokenizer/tokenizer.h"

#define LEARNED_VOCAB 320

extern struct tokenizer *learned;

int learned_begin(void **state);
int learned_end(void **state);

/* The files of the same tokenizer into a directory. */
void learned_write(const char *to);
