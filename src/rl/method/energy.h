/* energy: e of rl/method/advantage.h: how much a row's tokens move the gradient. Threads: pure. */
#pragma once

#include "rl/method/advantage.h"

/* path [tokens]: Σ of the span's tokens up to this one; energy [rows]: of the row. Rows with a bit
 * of options->out add nothing. ERR_INPUT: e is unknown for a row without these bits; `name` is what
 * needs it. */
NODISCARD int rl_energies(const struct rl_batch *batch, enum rl_span span,
                          const struct rl_advantage_options *options, const char *name,
                          double *path, double *energy, struct err *err);
