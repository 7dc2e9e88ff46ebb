/* torch: two children with PyTorch in them, one with the problem's module, one with the
 * candidate's.
 *
 * The reference child builds its Model under a weight seed that the judge draws once for each
 * problem, describes its inputs and hands out its weights. The candidate child builds ModelNew
 * under the same seed and gets a copy of the values where names and shapes match, so that the order
 * of construction does not matter. What a candidate asks to be compiled (torch.utils.cpp_extension)
 * is compiled by the judge in a sandbox of its own: build/build.h.
 *
 * Threads: the session's. Errors: as opening.h has them.
 */
#pragma once

#include "judge/open/opening.h"

/* The reference alone; nothing to do if opening->reference is it. What a candidate compiles while
 * it loads takes time in which another session may take the reference: so again after that. */
int torch_open_reference(struct opening *opening);
int torch_open_candidate(struct opening *opening);
/* The job's argument_bytes and weight_bytes, in a process without a GPU: before any of a device's
 * memory is taken. They stay 0 where a form depends on values. False: it was cancelled, or there
 * was no process for it, which says nothing of the problem. */
bool torch_find_sizes(struct opening *opening);
