/* torch: two children with PyTorch in them, one with the problem's module, one with the
 * candidate's.
 *
 * The reference child builds its Model under a weight seed that the judge draws once for each
 * problem, describes its inputs and hands out its weights. The candidate child builds ModelNew
 * under the same seed and gets a copy of the values where names and shapes match, so that the order
 * of construction does not matter. What a candidate asks to be compiled (torch.utils.cpp_extension)
 * is compiled by the judge in a sandbox of its own: build/build.h.
 *
 * Threads: the session's.
 */
#pragma once

struct session;

/* The reference alone; nothing to do if the session has it. 0 or -1 (the verdict says why). */
int torch_open_reference(struct session *session);
/* Both: stages "compile" and "load". Likewise. */
int torch_open(struct session *session);
