/* nearest: the "did you mean" of every error about an unknown name. */
#ifndef WARPGYM_BASE_NEAREST_H
#define WARPGYM_BASE_NEAREST_H

#include <stddef.h>

/* The one of `names` that `what` was most probably meant to be: fewest letters changed, added, left
 * out or swapped with their neighbour (Damerau-Levenshtein, each pair of letters swapped at most
 * once). NULL when nothing is close: one slip is allowed for each three letters, at least one. The
 * first of equals wins. NULL entries are skipped. */
const char *nearest_name(const char *what, const char *const *names, size_t count);

#endif
