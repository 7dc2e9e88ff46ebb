/* warpgym_child.h: what a program speaks that brings a language to warpgym from outside, version 1.
 *
 *   program                                       judge
 *   HELLO  {version}                           ─►             no candidate's text is here yet
 *                        ◄─ OPEN {arguments} + source, [build]
 *   OPENED | FAILED                            ─►
 *                        ◄─ MAP {layout} + memory             again for other sizes
 *   MAPPED | FAILED                            ─►
 *                        ◄─ CALL                              once for each call
 *   DONE   | FAILED                            ─►             its outputs are written by then
 *
 * The channel is descriptor 3 of the program, a SOCK_SEQPACKET socket: each struct below is one
 * message (sendmsg, recvmsg), in the machine's own byte order, and descriptors come along with it
 * (SCM_RIGHTS). When it ends, the program ends. docs/guide/extending.md walks through it.
 *
 * The judge believes nothing but that an answer came: it holds the clock, makes the inputs, reads
 * the outputs, and stops the program (SIGSTOP) between two calls. A message that is not the one
 * waited for, is too short, or comes unasked, ends the evaluation.
 *
 * This header needs nothing of warpgym, and changes only together with WARPGYM_CHILD_VERSION.
 */
#ifndef WARPGYM_CHILD_H
#define WARPGYM_CHILD_H

#include <stdint.h>

#define WARPGYM_CHILD_VERSION 2
#define WARPGYM_CHILD_CHANNEL 3 /* descriptor */
#define WARPGYM_CHILD_ARGUMENTS 24
#define WARPGYM_CHILD_NAME_BYTES 128
#define WARPGYM_CHILD_TEXT_BYTES 8192

enum warpgym_child_type { /* of a message: its first four bytes */
                          WARPGYM_CHILD_MAPPED = 4,
                          WARPGYM_CHILD_CALL = 7,
                          WARPGYM_CHILD_DONE = 8,
                          WARPGYM_CHILD_FAILED = 9,
                          WARPGYM_CHILD_HELLO = 16,
                          WARPGYM_CHILD_OPEN = 17,
                          WARPGYM_CHILD_OPENED = 18,
                          WARPGYM_CHILD_MAP = 19,
};

enum warpgym_child_role {
    WARPGYM_CHILD_IN,     /* an array that is read */
    WARPGYM_CHILD_OUT,    /* an array that is written */
    WARPGYM_CHILD_INOUT,  /* both */
    WARPGYM_CHILD_SIZE,   /* a size: one u64 */
    WARPGYM_CHILD_SCALAR, /* one value of its type */
};

enum warpgym_child_element {
    WARPGYM_CHILD_F16,
    WARPGYM_CHILD_BF16,
    WARPGYM_CHILD_F32,
    WARPGYM_CHILD_F64,
    WARPGYM_CHILD_I8,
    WARPGYM_CHILD_U8,
    WARPGYM_CHILD_I16,
    WARPGYM_CHILD_I32,
    WARPGYM_CHILD_I64,
    WARPGYM_CHILD_U32,
    WARPGYM_CHILD_U64,
    WARPGYM_CHILD_BOOL,
};

enum warpgym_child_failure { /* why it cannot go on: the verdict's status */
                             WARPGYM_CHILD_LOAD_ERROR = 1,
                             WARPGYM_CHILD_RUNTIME_ERROR,
                             WARPGYM_CHILD_OUT_OF_MEMORY,
                             WARPGYM_CHILD_UNSUPPORTED,
                             WARPGYM_CHILD_COMPILE_ERROR,
};

/* HELLO, OPENED, MAPPED. `version`: of HELLO, WARPGYM_CHILD_VERSION; else 0. */
struct warpgym_child_word {
    uint32_t type, version;
};

/* One parameter of `solution`, in the order of the problem's signature. */
struct warpgym_child_parameter {
    char name[WARPGYM_CHILD_NAME_BYTES];
    uint32_t role;    /* enum warpgym_child_role */
    uint32_t element; /* enum warpgym_child_element */
};

/* Descriptors: the source, a text; where the language has `compile`, what that has built. */
struct warpgym_child_open {
    uint32_t type, version;
    uint32_t threads; /* that it may compute with */
    uint32_t parameter_count;
    char file[WARPGYM_CHILD_NAME_BYTES]; /* what the source is called in messages: "relu.cl" */
    struct warpgym_child_parameter parameters[WARPGYM_CHILD_ARGUMENTS];
};

/* Where the argument of a parameter lies. */
struct warpgym_child_argument {
    uint64_t offset; /* bytes from the begin of the memory; a multiple of 64 */
    uint64_t count;  /* elements; of sizes and scalars 1 */
};

/* Descriptor: the memory, to be mapped shared; none: that of the MAP before, laid out anew. */
struct warpgym_child_map {
    uint32_t type, argument_count;
    uint64_t memory_bytes; /* of the whole memory */
    struct warpgym_child_argument arguments[WARPGYM_CHILD_ARGUMENTS];
};

/* Sizes and scalars may have other values at each call: read them from the memory, each time. */
struct warpgym_child_call {
    uint32_t type, mode; /* mode: 1, the only one */
    uint64_t reserved[2];
};

struct warpgym_child_done {
    uint32_t type, reserved; /* 0 */
    uint64_t own_ns; /* what the call took by the program's clock, or 0; for information only */
    uint64_t also_reserved; /* 0 */
};

/* After it the program may end. */
struct warpgym_child_failed {
    uint32_t type, failure;              /* enum warpgym_child_failure */
    uint32_t reserved[2];                /* 0 */
    char text[WARPGYM_CHILD_TEXT_BYTES]; /* for people, with its NUL; "relu.cl:3:9: error: …" */
};

#endif
