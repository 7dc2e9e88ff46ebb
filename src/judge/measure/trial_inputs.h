/* trial_inputs: fresh inputs of a trial, and the memory of both children that they are laid out in.
 *
 * Threads: the session's. Errors: as trial.h has them.
 */
#pragma once

#include "judge/measure/trial_state.h"
#include "judge/process/call.h"

/* Of the problem's timed size number `at`, and the bytes that a call of it moves (native; else 0);
 * of the first size that is checked if none is timed. */
int trial_layout(const struct trials *trials, uint32_t at, struct layout *layout, double *bytes,
                 struct err *err);
/* Of a step of that child's. How long the reference takes is the problem's doing: it has
 * run.load_timeout_ms for each, and gives the candidate more time for the same. */
struct time_limit trial_limit(const struct trials *trials, const struct trial *trial,
                              const struct child *child);
/* Prepares both children for the layout; the second function only the reference. */
int trial_map(struct trials *trials, const struct trial *trial, bool oracle);
int trial_map_reference(struct trials *trials, const struct trial *trial, bool oracle);

/* Stages what lies in the reference's slot now. */
void trial_stage(struct trials *trials);
/* Fresh inputs, staged for both. */
int trial_prepare(struct trials *trials, const struct trial *trial);
/* Gives one child the staged inputs, and poisons its outputs. Both children get theirs right before
 * their call, by the same steps, so that the caches hold the same, too. */
int trial_lay_out(const struct trials *trials, const struct trial *trial, struct child *child,
                  struct err *err);
