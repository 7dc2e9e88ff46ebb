/* input_shift: inputs of another distribution than the problem's own, made of the same values.
 *
 * Each element of an array becomes one of its smallest or one of its largest values, by a biased
 * coin. The mean, the spread and the order of magnitude of the inputs that a candidate has seen so
 * far do not help it then (catalogue H10), and the problem itself has drawn each value.
 *
 * There are many small and many large values, not one of each: adding the same two numbers over and
 * over in float32 errs in the same direction each time, so that an honest sum of a thousand would
 * be wrong. Fills promise a range and no more. What PyTorch's tensors promise has to be seen first:
 * python/warpgym/promises.py makes theirs. A pure function.
 */
#pragma once

#include "problem/layout.h"

#include <stdint.h>

/* Inputs that were drawn as floating-point numbers; the rest of the filled slot stays as it is. */
void input_shift_apply(const struct layout *layout, char *slot, uint64_t seed);
