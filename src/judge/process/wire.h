/* wire: the messages between judge and child, over one SOCK_SEQPACKET channel for each child.
 *
 *   judge                                   child
 *   WARM   {gpu, pipe}                   ─► lock the sandbox, open the GPU ─► the pipe's end, after
 *                                           a byte if that did not work          (optional)
 *   OPEN   {source or artifact, weights} ─► load          ─► OPENED {layout, text} | FAILED
 *                             LOCKED {layers} ─► as soon as the sandbox is locked, behind WARM or
 *                             OPEN: the child's first message, sent before a candidate's code runs
 *   MAP    {layout, slot memory}         ─► map           ─► MAPPED
 *   FILL   {seed}                        ─► fill the slot ─► FILLED                  (torch only)
 *   WAKE   {warm_ups}                    ─► warm up       ─► AWAKE   (before a timed call)
 *   CALL   {mode, noise}                 ─► run once      ─► DONE {outputs} | FAILED
 *
 * and, whenever the judge waits for a torch child:
 *
 *          BUILD {sources} ◄─ something to compile: an extension, Triton's machine code
 *                             BUILT {artifact} ─►
 *          SEGMENT {memory} ◄─ GPU memory in which its tensors will lie from now on
 *
 * Languages from outside speak a part of it, which stays as it is
 * (judge/process/external_program.h):
 *
 *          HELLO {version} ─►
 *   PROGRAM_OPEN {names, source}         ─► load          ─► PROGRAM_OPENED | FAILED
 *   PROGRAM_MAP  {offsets, memory}       ─► map           ─► MAPPED | FAILED
 *   CALL                                 ─► run once      ─► DONE | FAILED
 *
 * A message is one struct below, little-endian as the machine has it, plus file descriptors. It is
 * never longer than WIRE_BYTES. From a candidate, everything is a claim: sizes are checked, texts
 * are shown and not believed, addresses are only ever read through the kernel.
 */
#pragma once

#include "base/err.h"
#include "base/limits.h"
#include "problem/layout.h"

#include <stddef.h>
#include <stdint.h>

#define WIRE_BYTES 65536
#define WIRE_TEXT_BYTES 8192
#define WIRE_DESCRIPTORS 4
#define WIRE_OUTPUTS 128
#define WIRE_SLOTS 384

enum wire_type {
    WIRE_OPEN = 1,
    WIRE_OPENED,
    WIRE_MAP,
    WIRE_MAPPED,
    WIRE_FILL,
    WIRE_FILLED,
    WIRE_CALL,
    WIRE_DONE,
    WIRE_FAILED,
    WIRE_BUILD,
    WIRE_BUILT,
    WIRE_WARM,
    WIRE_SEGMENT,
    WIRE_WAKE,
    WIRE_AWAKE,
    /* of programs from outside, instead of OPEN, OPENED and MAP: include/warpgym_child.h */
    WIRE_HELLO,
    WIRE_PROGRAM_OPEN,
    WIRE_PROGRAM_OPENED,
    WIRE_PROGRAM_MAP,
    WIRE_LOCKED,
};

enum wire_role {
    WIRE_REFERENCE = 1,
    WIRE_CANDIDATE,
    WIRE_CASES, /* torch: it makes the cases of a simple problem, and is not called */
    WIRE_SIZES, /* torch: it says what a reference's inputs and weights take, and is not called */
};

enum wire_simple { WIRE_NOT_SIMPLE, WIRE_COMPARED, WIRE_NOT_COMPARED };

enum wire_mode {
    WIRE_RUN = 1,   /* the function itself */
    WIRE_DOUBLE,    /* reference: the oracle at double precision; torch: behind it, in one tensor,
                     the noise of each output and its bound (rounding.py) */
    WIRE_ABLATE,    /* torch: with the candidate's own kernels replaced by nothing */
    WIRE_TRACE,     /* on a GPU: recording what runs there, into the descriptor that comes along */
    WIRE_WITHOUT,   /* torch reference: with its parameter number `noise` set to zero */
    WIRE_CHOICES,   /* torch reference: the values that outputs name places of (choices.py) */
    WIRE_LEAVE_OUT, /* torch on the CPU, behind WIRE_ABLATE: its extensions do nothing at all */
    WIRE_NOTHING,   /* likewise: nothing is called, to see what any call takes */
    WIRE_ROUNDING,  /* torch reference with an oracle: for each slot, in one tensor, the noise of
                     each output on its inputs, and its bound */
};

/* The GPU that a child runs on; it sees no other. */
struct wire_gpu {
    char uuid[44];   /* as in CUDA_VISIBLE_DEVICES; "": none, on the CPU */
    uint32_t queues; /* of its context (setting gpu.queues) */
};

/* What a reference does that lacks memory for an oracle. */
enum wire_oracle {
    WIRE_ORACLE_OR_NONE, /* it does without: it has all of the GPU's, or is on the CPU */
    WIRE_ORACLE,         /* it fails, and is opened again, with all of it */
    WIRE_NO_ORACLE,      /* what it took left too little for the evaluation: it makes none */
};

/* Descriptors: native: artifact, [oracle artifact], [launch lines]. torch: source, description,
 * [weights]. description = JSON that the reference child wrote: how inputs and constructor look.
 * The reference of a simple problem runs no text: it gets what the maker of the cases wrote,
 * description and values. */
struct wire_open {
    uint32_t type, role;
    uint64_t weight_seed;
    uint32_t threads;
    struct wire_gpu gpu;
    /* native: which descriptor holds the launch lines of an artifact that is a cubin
     * (child/launcher.h); 0: none, it is a shared object */
    uint32_t launch;
    /* torch only */
    uint32_t precision; /* of floating inputs and weights: enum dtype, plus 1; 0: as they come */
    char compile[32];   /* reference: mode of torch.compile; "": eager */
    char entry_point[LIMIT_NAME_BYTES]; /* the class that is called */
    uint32_t simple;                    /* enum wire_simple: there are cases, and no reference */
    uint32_t oracle;                    /* reference: enum wire_oracle */
};

/* Sent ahead of OPEN to a process of a warm pool: the work that takes long and is the same for all
 * candidates. An error is reported in answer to OPEN. Descriptors: the write end of a pipe,
 * which is closed when it is done: the channel may hold other messages by then (SEGMENT). */
struct wire_warm {
    uint32_t type;
    struct wire_gpu gpu;
};

/* Bytes in the child's own memory, which stay there until the next message to it. */
struct wire_memory {
    uint64_t address, bytes; /* 0 bytes: none */
};

struct wire_locked {
    uint32_t type, layers; /* layers: bits of enum sandbox_layer that hold from here on */
};

struct wire_opened {
    uint32_t type, oracle; /* torch reference: 1 when WIRE_DOUBLE works */
    struct layout layout;  /* torch reference: of its inputs; sizes: their bytes; else empty */
    /* torch reference: JSON, and its weights; maker of cases: JSON, and the values of tensors */
    struct wire_memory description, values;
    uint64_t weight_bytes; /* sizes: of the weights; 0: they are not known */
};

/* Descriptors: slot memory, [oracle memory], [GPU memory]; none: the memory mapped before, laid out
 * anew. With GPU memory arrays lie there, at the same offsets; sizes and scalars in the slot. */
struct wire_map {
    uint32_t type;
    uint32_t slots; /* native: how many of that layout lie one behind the other; a call is one of
                       each, in turn */
    struct layout layout;
    uint64_t slot_bytes, oracle_bytes, gpu_bytes; /* of the memory; 0: none is sent */
};

enum wire_shift {
    WIRE_UNSHIFTED,
    WIRE_SHIFTED,     /* inputs of another distribution: promises.py */
    WIRE_ONE_SHIFTED, /* in one slot, which the seed says */
};

struct wire_fill {
    uint32_t type;
    uint32_t shift; /* enum wire_shift */
    uint64_t seed;  /* of the first slot; the others' follow from it */
};

/* What a call needs beside its arguments: it comes into the caches, off the clock. Of the CALL that
 * follows it says no more than that it is not timed (poison): what a candidate knew of the rest, it
 * could work on before the clock.
 * Warm-ups (torch): so many calls, on the inputs of its slots that were there before FILL. */
struct wire_wake {
    uint32_t type, warm_ups;
    uint32_t poison; /* 1: memory that its call takes (child/tensor_memory.h); not on the clock */
    uint32_t reserved;
};

struct wire_call {
    uint32_t type, mode;
    uint64_t noise; /* seeds what a layer itself draws (dropout); the same on both children */
    uint32_t calls; /* native, on a GPU: of the first so many slots; 0: of all */
    uint32_t reserved;
};

#define WIRE_COMPLEX 0x100 /* beside the type of the parts, which are the last dimension */

struct wire_output {
    uint64_t address; /* in the child's own memory, contiguous */
    uint64_t bytes;
    uint32_t dtype, dimensions; /* dtype: of enum dtype, with WIRE_COMPLEX or without */
    int64_t shape[LIMIT_DIMENSIONS];
};

/* As long as its outputs are many. */
struct wire_done {
    uint32_t type, count; /* of all slots, one slot's behind the other's; native: 0, its outputs lie
                             in the slot */
    uint64_t own_ns;      /* the call by the child's own clock; a candidate's is not looked at */
    uint64_t issue_ns;    /* torch, on a GPU: until the calls were issued, at the same rate, where
                             the model never waits for the GPU; 0: not said */
    struct wire_output outputs[WIRE_OUTPUTS];
};

/* Descriptor: the memory, as gpu_memory_import takes it; none, and no bytes: it is given up; none,
 * and no address: there was no such memory left. What it holds is read by the judge where DONE says
 * that outputs lie, and nowhere else. */
struct wire_segment {
    uint32_t type, reserved;
    uint64_t address; /* in the child's own view */
    uint64_t bytes;
};

/* X(symbol, name) — why a child could not go on */
#define WIRE_FAILURES(X)                                                                           \
    X(FAILED_LOAD, "load_error")                                                                   \
    X(FAILED_RUN, "runtime_error")                                                                 \
    X(FAILED_MEMORY, "out_of_memory")                                                              \
    X(FAILED_UNSUPPORTED, "unsupported")                                                           \
    X(FAILED_COMPILE, "compile_error")                                                             \
    X(FAILED_NO_GPU, "unsupported")                                                                \
    X(FAILED_NO_COMPILER, "unsupported")                                                           \
    X(FAILED_PROBLEM, "unsupported") /* a reference: inputs or outputs of a kind that we lack */

enum wire_failure {
    FAILED_NONE,
#define X(symbol, name) symbol,
    WIRE_FAILURES(X)
#undef X
        FAILED_COUNT
};

struct wire_failed {
    uint32_t type, failure;
    uint64_t reserved;
    char text[WIRE_TEXT_BYTES]; /* NUL-terminated */
};

/* Descriptor: a file in scratch that says as JSON what is to be built: build.h. */
struct wire_build {
    uint32_t type, reserved;
};

/* Descriptor: what was built, where failure is FAILED_NONE. */
struct wire_built {
    uint32_t type, failure;
    char text[WIRE_TEXT_BYTES];
};

/* HELLO, PROGRAM_OPENED: struct warpgym_child_word. */
struct wire_word {
    uint32_t type, version;
};

union wire_message {
    uint32_t type;
    struct wire_open open;
    struct wire_locked locked;
    struct wire_opened opened;
    struct wire_map map;
    struct wire_fill fill;
    struct wire_call call;
    struct wire_wake wake;
    struct wire_done done;
    struct wire_failed failed;
    struct wire_build build;
    struct wire_built built;
    struct wire_warm warm;
    struct wire_segment segment;
    struct wire_word word;
    char bytes[WIRE_BYTES];
};

/* One message and up to WIRE_DESCRIPTORS descriptors (not consumed). ERR_CRASH: the other end is
 * closed. */
NODISCARD int wire_send(int channel, const void *message, size_t bytes, const int *descriptors,
                        uint32_t descriptor_count, struct err *err);

/* Receives one message; *bytes is its length, unset descriptors are -1 and set ones the caller's.
 * On failure there are none. ERR_CRASH: the other end is closed. ERR_PROTOCOL: an unknown type, too
 * short for its type, too long, or with too many descriptors. */
NODISCARD int wire_receive(int channel, union wire_message *message, size_t *bytes,
                           int descriptors[WIRE_DESCRIPTORS], struct err *err);

/* Closes those that are set, and unsets them. */
void wire_close(int descriptors[WIRE_DESCRIPTORS]);

/* Length that a message of this type must have at least, 0 for an unknown type. */
size_t wire_length(uint32_t type);

/* What a child claims about its inputs and outputs, before the judge computes with it. Addresses
 * stay unchecked: they are only ever read through the kernel. */
NODISCARD int wire_check_opened(const struct wire_opened *opened, struct err *err);
NODISCARD int wire_check_done(const struct wire_done *done, struct err *err);
