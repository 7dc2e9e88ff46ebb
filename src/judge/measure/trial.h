/* trial: one call of both children on the same fresh inputs, and the comparison.
 *
 *   inputs ─► staging ─┬► R, poison ─► reference call ─┬► compare
 *                      └► C, poison ─► candidate call ─┘     (in either order)
 *
 * The judge makes native inputs itself; the reference child makes torch inputs (its get_inputs). On
 * a GPU staging lies there, too, if nothing on the host is needed: trial_gpu.h.
 *
 * Ownership: struct trial_state is the session's. Threads: the session's. Errors: functions that
 * return int return 0, or -1 if trials->fault was set or the verdict has an end, unless they take
 * an `err`.
 */
#pragma once

#include "judge/measure/trial_state.h"
#include "judge/process/call.h"

/* Between these the children are called on the session's processors (cpu_affinity.h); `alone`: on
 * the GPU's own, of which there is one, whatever number of evaluations are checked at a time. */
void trial_begin(struct trials *trials, bool alone);
void trial_end(struct trials *trials);

/* Between two trials: both children are stopped for a session that waits to time, which otherwise
 * had the device only after a whole check or audit: seconds where inputs are large. */
NODISCARD int trial_make_way(struct trials *trials);

/* Each lays out its child's inputs and poisoned outputs, and calls it. */
int trial_reference(struct trials *trials, const struct trial *trial, struct child_time *time);
int trial_candidate(struct trials *trials, const struct trial *trial, struct child_time *time);
/* One child in another mode (wire.h); the caller weighs errors. */
NODISCARD int trial_in(struct trials *trials, const struct trial *trial, struct child *child,
                       uint32_t mode, struct child_time *time, struct err *err);
/* The reference's answer to the inputs at hand, after it was called in another mode: its outputs
 * lie where the rest of the trial expects them. */
NODISCARD int trial_answer_again(struct trials *trials, const struct trial *trial, struct err *err);
/* Prepares, calls both, the reference first, and compares. */
enum trial_result trial_run(struct trials *trials, const struct trial *trial);
