/* bound: how far from the reference an answer may be, and at which precision it is computed, as a
 * person chooses it for a problem, a request or a run.
 *
 *   bound      strict | kernelbench | kernelgym | {rtol: 1e-3, atol: 1e-4}
 *   precision  fp32 | tf32 | fp16 | bf16
 *
 * `strict` is the problem's own tolerance. The others are those of allclose, the two names
 * with the values that these projects use. A module states them in its first comments or docstring
 * ("Tolerance: kernelbench"); the settings check.tolerance and torch.precision come before it.
 *
 * Threads: pure functions.
 */
#pragma once

#include "base/err.h"
#include "base/word_table.h"

#include <stdbool.h>
#include <stdint.h>

struct tolerance;

#define BOUND_KINDS(X)                                                                             \
    X(BOUND_STRICT, "strict")                                                                      \
    X(BOUND_KERNELBENCH, "kernelbench")                                                            \
    X(BOUND_KERNELGYM, "kernelgym")

enum bound_kind { WORD_SYMBOLS(BOUND_KINDS) BOUND_GIVEN };

struct answer_bound {
    enum bound_kind kind;
    double rtol, atol; /* BOUND_GIVEN */
};

#define TORCH_PRECISIONS(X)                                                                        \
    X(TORCH_AUTO_PRECISION, "auto")                                                                \
    X(TORCH_FP32, "fp32")                                                                          \
    X(TORCH_TF32, "tf32") /* float32 whose products may be TF32 */                                 \
    X(TORCH_FP16, "fp16")                                                                          \
    X(TORCH_BF16, "bf16")
enum torch_precision { WORD_SYMBOLS(TORCH_PRECISIONS) };

NODISCARD int bound_parse(const char *text, struct answer_bound *bound, struct err *err);

/* What it means for an output of `dtype`, in the place of *tolerance; strict leaves that. */
void bound_apply(const struct answer_bound *bound, uint32_t dtype, struct tolerance *tolerance);
