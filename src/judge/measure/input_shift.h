/* bias: inputs of another distribution than the problem's own, of the same values.
 *
 * Each element of an array becomes one of its smallest or one of its largest values, as a biased
 * coin says. The mean, the spread and the order of magnitude of what a candidate has seen so far
 * are no help then (catalogue H10), and each value is one that the problem itself has drawn.
 *
 * Of either kind there are many, not one: who adds the same two numbers over and over in float32
 * errs to the same child each time, and an honest sum of a thousand would be told that it is wrong.
 * python/warpgym/child.py does the same for PyTorch's tensors.
 */
#ifndef WARPGYM_JUDGE_MEASURE_INPUT_SHIFT_H
#define WARPGYM_JUDGE_MEASURE_INPUT_SHIFT_H

#include "problem/layout.h"

#include <stdint.h>

/* Inputs that were drawn as floating-point numbers; the rest of the filled slot stays as it is. */
void input_shift_apply(const struct layout *layout, char *slot, uint64_t seed);

#endif
