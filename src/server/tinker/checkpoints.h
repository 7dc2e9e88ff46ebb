/* checkpoints: saving and loading of a run's weights, as operations of the queue (queue.h).
 *
 * Errors: the future's; ERR_INPUT and ERR_MISSING name the checkpoint that the request asked for.
 * Threads: the training thread; handlers only submit.
 */
#pragma once

#include "server/tinker/queue.h"

/* load_weights: the body says "path", a training checkpoint, and whether to load "optimizer", too;
 * the run has a trainer. One that fails in the middle leaves the run torn (runs.h). */
extern const struct tinker_operation tinker_load_operation;
