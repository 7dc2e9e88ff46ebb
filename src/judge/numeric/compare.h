/* compare: is what the candidate wrote what the problem asks for?
 *
 * One tensor against its expected values. An element agrees when
 *
 *     |got - expected| <= max((relative + slack) * scale + absolute, noise)
 *
 * where scale is |expected| (SCALE_NONE) or max(|expected|, rms) (SCALE_RMS), and rms is the root
 * mean square of the finite expected elements. The rms keeps elements near zero from asking for
 * more than rounding can give, and keeps zeros, constants and copies from passing. `noise` is what
 * rounding alone may do to this output, where its terms cancel and nothing of their size is left
 * (docs/design/tolerance.md).
 *
 * NaN agrees with NaN only, an infinity with the same infinity only. An oracle's value that the
 * tensor's own type cannot hold agrees with the infinity that it rounds to as well (overflow in the
 * problem's precision is no mistake of the candidate). `exact` asks for equal bytes, except that
 * numerically equal floats (0 and -0) and any two NaNs are equal.
 *
 * compare_tensor is vectorised; compare_tensor_plainly is the same rule written element by element,
 * kept as the reference that tests hold the fast one against. Both are pure functions.
 */
#pragma once

#include "problem/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct comparison {
    uint32_t dtype;          /* of got */
    uint32_t expected_dtype; /* the same, or DTYPE_F64: an oracle (floating tensors only) */
    uint64_t count;          /* elements; 0 agrees */
    struct tolerance tolerance;
    double slack; /* added to tolerance.relative; ignored when exact */
    double noise; /* error that is allowed in any case; ignored when exact */
};

struct difference {
    uint64_t mismatches;  /* elements outside the tolerance */
    uint64_t first_index; /* of the first one; 0 when there is none */
    double got, expected; /* there; 0 when there is none. 64-bit integers lose low bits here */
    double max_absolute;  /* over elements where both are finite */
    double max_relative;  /* the same, each over max(|expected|, rms); INFINITY over a zero */
    bool nan_mismatch;    /* only one of the two had a NaN or infinity, or their signs differ */
    double scale;         /* rms of the finite expected elements */
};

/* True when no element mismatches. Alignment: that of the element types. */
bool compare_tensor(const struct comparison *spec, const void *expected, const void *got,
                    struct difference *difference);
bool compare_tensor_plainly(const struct comparison *spec, const void *expected, const void *got,
                            struct difference *difference);

/* The rule for one element of a tensor whose root mean square is `rms`; of 64-bit integers the low
 * bits do not count. */
bool compare_values(const struct comparison *spec, double rms, double expected, double got);

/* Magnitude from which an oracle's value is an infinity in the tensor's own type. */
double compare_overflow(const struct comparison *spec);

/* For tests: the fast path as compiled for instruction set 0 … compare_variants() - 1;
 * compare_tensor takes the last. */
int compare_variants(void);
bool compare_tensor_variant(int variant, const struct comparison *spec, const void *expected,
                            const void *got, struct difference *difference);
