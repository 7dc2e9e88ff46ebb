/* timing: the stage that asks how fast a candidate is. evaluate.c locks the device for it alone.
 *
 * Reference and candidate are called in pairs on the same fresh inputs; every pair is compared like
 * a trial, and a wrong one makes the verdict wrong. The second call of a pair meets other caches
 * than the first (where memory is the limit it takes 10 to 25 % longer), so both orders are taken
 * equally often, and their medians are brought to one level.
 *
 * A call's time runs from before the message that makes it until the child says DONE
 * (cpu_affinity.h), with what it ran ahead of that (call.h), less the dispatch overhead: what that
 * takes longer than the same call by the reference's own clock, which is trusted. Its median (on a
 * GPU: of three neighbouring pairs; of PyTorch calls on the CPU, which a candidate's own process
 * could make cheaper: its least value) is taken off both children.
 *
 * Three things around that are on the clock, too, each as far as it takes longer than with the
 * reference: taking samples of the answer (if a child says DONE too early, sampling waits for it or
 * detects a late write); from then on, stopping its last thread; and on a GPU, where one interval
 * takes many calls, bringing their inputs. A stopped process's kernels run on there, and contexts
 * take turns: a candidate that works as soon as inputs arrive makes the rest of them arrive later.
 *
 * Sampling stops when the speedup's interval is tight (settings timing.*): within one budget of
 * time as tight as the target, within two budgets twice as wide, and so on up to timing.widest,
 * because on a machine with neighbours the next sample is worth less the longer it has been waited
 * for. What is wider at the end is marked. Once the budget is spent sampling also stops if the
 * whole interval says that the candidate is timing.stop_slower times slower: more samples would say
 * the same at a higher cost. A median below the roofline floor (roofline.h) is a violation, never a
 * result.
 *
 * The device's lock is held in turns (device/turn.h). Between two pairs another session may have
 * it; a pair that does not count follows. On the CPU a call of the candidate that has already taken
 * timing.stop_slower times the reference's is stopped where others wait, and goes on later: if it
 * was computing, that time is not on its clock. Whatever it does meanwhile, it is no faster than
 * that. A call of the warm-up may be stopped at any time, because none of it counts; so may what a
 * child does off the clock (FILL, WAKE).
 *
 * Threads: the session's.
 */
#pragma once

#include "judge/measure/trial.h"

/* 0 or -1, as trial.h has it. */
int timing_stage(struct trials *trials);
