/* learned: a directory of its own for a test, with a small tokenizer that was learned in it.
 * Failures fail the test. */
#pragma once

#include "lm/tokenizer/tokenizer.h"

struct learned_tokenizer {
    const char *directory;
    struct tokenizer *tokenizer;
};

void learned_open(struct learned_tokenizer *learned);
void learned_close(struct learned_tokenizer *learned);
/* Writes DIRECTORY/name; the path is the caller's (mem_free). */
char *learned_write(const struct learned_tokenizer *learned, const char *name, const char *text);
