/* suggest: the "did you mean" of every error about an unknown name. Threads: nothing is shared. */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* The one of `names` that `what` was most probably meant to be: fewest letters changed, added, left
 * out or swapped with their neighbour (Damerau-Levenshtein, each pair of letters swapped at most
 * once). NULL when nothing is close: one slip is allowed for each three letters, at least one. The
 * first of equals wins. NULL entries are skipped. */
const char *suggest_name(const char *what, const char *const *names, size_t count);

/* ERR_INPUT: "unknown WHAT 'NAME'; did you mean 'NEAR'?". If no name is near and all of them fit
 * into a line, they are listed instead. NULL entries are skipped. */
int err_unknown(struct err *err, const char *what, const char *name, const char *const *names,
                size_t count);
