/* trial_gpu: calls whose arguments and outputs do not pass through the host.
 *
 *   native   fill ─► image ─┬─ copy ─► arrays R ─► call ─┬─► compare, guards ─► findings
 *                           └─ copy ─► arrays C ─► call ─┘
 *
 *   torch    get_inputs ─► arrays R ─► image ─┬─► arrays R ─► call ─► outputs R ─┬─► compare
 *                                             └─► arrays C ─► call ─► outputs C ─┘
 *
 * The image is that of all slots as a child gets them: inputs and, for native problems, poisoned
 * outputs and guards. A torch call's image waits on the host if the GPU has too little memory
 * (memory_budget.h). Outputs of a torch child lie in its own memory, of which the judge holds
 * descriptors (process/child.h).
 *
 * Threads: the session's. Errors: as trial.h has them.
 */
#pragma once

#include "judge/measure/trial_state.h"
#include "judge/numeric/compare.h"

/* Whether nothing of such a trial needs the host. */
bool trial_gpu_suits(const struct trials *trials, const struct trial *trial);
/* Torch: room for the image of the inputs, on the host if the GPU has too little; what lies in the
 * reference's slots becomes that image. */
NODISCARD int trial_gpu_make_image(struct trials *trials, const struct trial *trial,
                                   struct err *err);
NODISCARD int trial_gpu_stage(struct trials *trials, struct err *err);
/* Between these two, trials may be `on_gpu`. False: they may not. */
bool trial_gpu_begin(struct trials *trials, const struct trial *trial);
void trial_gpu_end(struct trials *trials);
int trial_gpu_prepare(struct trials *trials);
NODISCARD int trial_gpu_lay_out(const struct trials *trials, struct child *child, struct err *err);
/* Torch: the candidate's first slots hold the inputs of their last call again, as they were before
 * it, for trial->warm_ups. */
NODISCARD int trial_gpu_lay_out_again(const struct trials *trials, const struct trial *trial,
                                      struct err *err);
/* *agrees is false if something may be wrong; trial_compare says what exactly. */
int trial_gpu_agrees(struct trials *trials, bool *agrees);
/* As compare_tensor, of tensors on the GPU. */
NODISCARD int trial_gpu_compare(struct trials *trials, const struct comparison *spec,
                                const struct tensor *expected, const struct tensor *got,
                                struct difference *difference, struct err *err);
NODISCARD int trial_gpu_all_finite(struct trials *trials, const struct tensor *tensor, bool *finite,
                                   struct err *err);
/* Checks that the GPU is idle while both children are stopped. If the candidate left something
 * running, the verdict has an end. */
int trial_gpu_idle(struct trials *trials);
/* Only whether it is; true also where that cannot be measured yet. */
bool trial_gpu_quiet(struct trials *trials);
