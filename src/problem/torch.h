/* torch: a KernelBench-style Python module -> struct problem.
 *
 * The module is untrusted text here: it is read, never run. It must define Model (or another class,
 * its entry point), get_inputs and get_init_inputs, as far as the text shows; what it really does,
 * the reference child finds out.
 */
#pragma once

#include "problem/problem.h"

#define TORCH_RELATIVE 1e-4 /* tolerance, scaled by the root mean square */

/* "torch/NAME" for …/torch/NAME.py, "levelN/ID" for …/levelN/ID_Name.py, else NAME. */
const char *torch_id(struct arena *arena, const char *path);

/* Into a zeroed problem whose id is set by the caller. On failure the caller frees the arena. */
NODISCARD int torch_load(struct problem *problem, const char *path, struct err *err);

/* The same from the text of a request, with the class that it names. */
NODISCARD int torch_from_text(struct problem *problem, const char *entry_point, const char *text,
                              size_t bytes, struct err *err);

/* What torch_load does once it has the text: checks it, finds the summary and the category. The
 * entry point is the problem's, or Model where it has none. */
NODISCARD int torch_parse(struct problem *problem, const char *path, const char *text, size_t bytes,
                          struct err *err);
