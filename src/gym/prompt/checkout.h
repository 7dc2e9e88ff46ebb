/* checkout: prompt files of other projects, read from a checkout of theirs and written as templates
 * of ours (docs/reference/prompts.md).
 *
 *   KernelBench   [src/kernelbench/]prompts/prompts.toml and the examples that it names: the styles
 *                 kernelbench (one_shot) and kernelbench-OPTION, a user message for each backend
 *   KernelGYM     [drkernel/]kernel/config/prompt_config/multi_turn_kernel.yaml: the style
 *                 kernelgym, whose later messages it words
 *
 * What these files do not say (KernelBench: later turns; KernelGYM: the first message, which its
 * data sets hold) is our style drkernel. Threads: as prompts_open.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct prompts;

/* The style that stands for a checkout, or NULL: the directory is none. */
const char *checkout_style(const char *directory);
/* Adds the templates of a checkout. ERR_INPUT with file and line. */
NODISCARD int checkout_add(struct prompts *prompts, const char *directory, struct err *err);
