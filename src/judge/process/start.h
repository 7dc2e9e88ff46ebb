/* start: a child in its sandbox.
 *
 * Where the machine lets a sandbox mount memory, that is its scratch, and vanishes with it. Where
 * it does not, which only the first sandbox can find out, each sandbox gets a directory of this
 * machine instead.
 *
 * Threads: any. Errors: as child_open has them.
 */
#pragma once

#include "judge/gpu/gpu_pool.h"
#include "judge/process/child.h"
#include "judge/process/warm_pool.h"

struct judge;

/* How messages name a GPU to a child; `facts` NULL: it has none. */
struct wire_gpu judge_wire_gpu(const struct judge *judge, const struct gpu *facts);
/* The pool of that kind for a GPU, made when it is first asked for; NULL: there is none. */
struct warm_pool *judge_warm_pool(struct judge *judge, struct gpu_unit *unit,
                                  enum sandbox_kind kind);
/* Opens a child in a sandbox with room for arguments of that size, or in start->process, which is
 * taken over, if there is one. Fills in what `start` has in common for all children: its message,
 * descriptors, kind, builder, timeout and `cancelled` are the caller's. */
NODISCARD int judge_start_child(struct judge *judge, struct gpu_unit *unit, enum sandbox_kind kind,
                                uint64_t arguments_bytes, struct child *child,
                                struct child_start *start, struct wire_opened *opened,
                                int opened_descriptors[WIRE_DESCRIPTORS], struct err *err);
/* Finds out whether sandboxes get a root of their own, which a bundled compiler must know before
 * it runs; nothing to do without one. */
NODISCARD int judge_probe_sandbox(struct judge *judge, struct standby *standby, struct err *err);
