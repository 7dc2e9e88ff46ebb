/* trial_compare: what becomes of a trial: both children's answers are compared, within the
 * problem's tolerance, and the verdict says what is wrong. Threads: the session's.
 */
#pragma once

#include "judge/measure/trial_state.h"
#include "judge/numeric/compare.h"

/* What an output, counted from 0, is held to: its argument's tolerance, or the problem's; equal
 * bytes for whole numbers. */
struct tolerance trial_tolerance(const struct trials *trials, uint32_t output, uint32_t dtype);
/* The same as a rule for one output. */
struct comparison trial_comparison(const struct trials *trials, uint32_t output, uint32_t dtype,
                                   uint32_t expected_dtype, uint64_t count);
/* Wherever the two lie. */
NODISCARD int trial_compare(struct trials *trials, const struct comparison *spec,
                            const struct tensor *expected, const struct tensor *got,
                            struct difference *difference, struct err *err);
bool trial_same_form(const struct tensor *expected, const struct tensor *got);
/* Compares. TRIAL_ENDED: the verdict has an end. */
enum trial_result trial_judge(struct trials *trials, const struct trial *trial);
