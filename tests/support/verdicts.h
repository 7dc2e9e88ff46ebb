/* verdicts: whole verdicts made of the parts that a test is about. */
#pragma once

#include "judge/verdict.h"

/* Adds to `part` empty values for what a verdict requires beside it. */
void verdict_complete(json_t *part);
/* The verdict of a text with such a part; verdict_deinit. Fails the test if it is none. */
void verdict_of(const char *part, struct verdict *verdict);
