/* device_only: CUDA sources that hold kernels alone, and the launch lines in their comments.
 *
 * Threads: any.
 */
#pragma once

#include "base/err.h"
#include "compile/compile.h"
#include "problem/problem.h"

/* Whether a CUDA source has kernels only, which are started as a launch line says. */
bool device_only(const struct problem *problem, const char *source);
/* How a CUDA source is compiled: COMPILE_CUBIN or COMPILE_CUDA. */
enum compile_kind device_only_kind(const struct problem *problem, const char *source);
/* Whether its launch lines make sense. ERR_INPUT: in the words of a compiler, about file `name`. */
NODISCARD int device_only_check(const struct problem *problem, const char *name, const char *source,
                                struct err *err);
/* What a child needs to know to start them (child/launcher.h), as sealed memory: a descriptor. */
NODISCARD int device_only_lines(const struct problem *problem, const char *source, struct err *err);
