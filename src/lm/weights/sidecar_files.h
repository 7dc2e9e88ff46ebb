/* sidecar_files: the files beside a model's weights that its users need, above all its tokenizer's.
 * This module copies them without reading their content. */
#pragma once

#include "base/err.h"

extern const char *const lm_sidecar_files[]; /* their names; the last is NULL */

/* Copies those that exist in the directory `from` and not in `to`. */
NODISCARD int lm_sidecar_files_copy(const char *from, const char *to, struct err *err);
