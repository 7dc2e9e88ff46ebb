/* python_call: one call of a PyTorch model, from CALL to DONE, without a line of Python of ours.
 *
 *   child.py     free, warm up ─► python_call ──────────► keep the outputs
 *   python_call               AWAKE … CALL ─ seed ─ model(…) ─ DONE
 *   judge                     stopped │ clock runs           │ stopped
 *
 * What a call needs beside the model is done before AWAKE. What is left is some microseconds, and
 * the same for the reference and the candidate: two reads, seeding the generators with what CALL
 * says, the call, an address, a shape and a dtype for each output, one write. A candidate shares
 * this address space and can do without any of it, so the judge subtracts none of it
 * (measure/timing.c): own_ns covers all that happens here.
 *
 * Everything that it uses is resolved by python_call_open, before the candidate's module is
 * imported: what that assigns to torch, to builtins or to our modules changes nothing here. An
 * answer that is not made of plain tensors (a subclass, a dictionary, memory with gaps) goes
 * through `plain`, a function of child.py's.
 *
 * Called from Python through ctypes.PyDLL, with the interpreter's lock held. It uses Python's
 * stable interface, found in the process, so that it needs no headers of any version. Objects are
 * Python's own; arguments are borrowed, results are new references. One for each process. Threads:
 * one.
 */
#pragma once

#include <stdint.h>

/* In this order in the tuple `given`. */
enum python_call_object {
    OBJECT_NONE,   /* None */
    OBJECT_TENSOR, /* types of tensors that are described without `plain` */
    OBJECT_PARAMETER,
    OBJECT_SHAPE, /* functions of one tensor */
    OBJECT_DTYPE,
    OBJECT_POINTER,
    OBJECT_CONTIGUOUS,
    OBJECT_NEGATED, /* whether its numbers are those in memory times -1 */
    OBJECT_HERE,    /* whether it lies where this process computes */
    OBJECT_DTYPES,  /* a tuple, in the order of enum dtype */
    OBJECT_SEEDS,   /* a tuple of functions of a number: one seeds each generator */
    OBJECT_COUNT,
};

/* Functions without arguments, in this order in a tuple. */
enum python_call_step {
    STEP_BELL, /* starts something on the GPU, which makes it this process's */
    STEP_SYNCHRONIZE,
    STEP_FIRST_MARK, /* around the calls that are timed */
    STEP_LAST_MARK,
    STEP_ELAPSED, /* between the marks, in ms */
    STEP_COUNT,
};

/* Keeps references to all of them. 0; -1: this Python lacks a function. */
int python_call_open(int judge, void *given);

/* From now on DONE says how long issuing the calls took: the model never waits for the GPU. */
void python_call_runs_ahead(void);

/* Says AWAKE and waits for the next message. If that is a CALL to run: seeds, calls the
 * model on each tuple of the tuple `inputs` and says DONE; a list of the outputs, which must live
 * until the next call. Any other message stays on the channel: None. NULL: an exception is set, and
 * nothing was said. `steps`: of a GPU; None. `plain` takes a list of answers, and returns their
 * tensors and the bytes that describe them (struct wire_output). */
void *python_call(void *model, void *inputs, void *plain, void *steps);
