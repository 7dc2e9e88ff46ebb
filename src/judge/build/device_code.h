/* device_code: device-only CUDA: launch lines, and what compiles it.
 *
 * Threads: any.
 */
#pragma once

#include "base/err.h"
#include "problem/problem.h"

struct toolchain;

/* Whether a CUDA source has kernels only, which are started as a launch line says. */
bool device_only(const struct problem *problem, const char *source);
/* Whether this machine compiles such a source (`only`), or one with a host function. ERR_MISSING:
 * it does not. */
NODISCARD int device_compiler(const struct toolchain *toolchain, bool only, struct err *err);
/* Whether its launch lines make sense. ERR_INPUT: in the words of a compiler, about file `name`. */
NODISCARD int device_check(const struct problem *problem, const char *name, const char *source,
                           struct err *err);
/* What a child needs to know to start them (child/launcher.h), as sealed memory: a descriptor. */
NODISCARD int device_lines(const struct problem *problem, const char *source, struct err *err);
