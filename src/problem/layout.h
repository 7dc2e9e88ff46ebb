/* layout: where each argument of one call lies in slot memory, and how it is filled.
 *
 * A *slot* is one block of memory that holds every argument of one call, in signature order:
 * arrays, and also sizes and scalars (8 bytes each), so that both children and the judge need
 * nothing but this plain struct. It crosses process borders as bytes: fixed-width members, no
 * pointers.
 *
 * Invariants: every offset is a multiple of 64; behind every array (and size and scalar) at least
 * LAYOUT_GUARD_BYTES belong to no argument (the judge fills them and checks them after a call);
 * `bytes` is a multiple of 4096.
 */
#pragma once

#include "base/limits.h"
#include "problem/dtype.h"

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_GUARD_BYTES 256
#define LAYOUT_ALIGNMENT 64 /* a cache line, and the widest vector */
#define LAYOUT_PAGE_BYTES 4096

enum argument_role { ROLE_IN, ROLE_OUT, ROLE_INOUT, ROLE_SIZE, ROLE_SCALAR };

enum fill_kind {
    FILL_NONE,        /* outputs, sizes */
    FILL_CONSTANT,    /* a */
    FILL_NORMAL,      /* mean a, standard deviation b */
    FILL_UNIFORM,     /* [a, b) */
    FILL_INTEGER,     /* whole numbers in [a, b) */
    FILL_PERMUTATION, /* 0 … count-1, shuffled */
    FILL_OFFSETS,     /* non-decreasing, first 0, last a: row starts of a sparse matrix */
    FILL_KINDS
};

struct layout_argument {
    uint32_t role;   /* enum argument_role */
    uint32_t dtype;  /* enum dtype; sizes are DTYPE_U64 (size_t) */
    uint64_t offset; /* bytes from the slot's start */
    uint64_t count;  /* elements; 1 for sizes and scalars */
    uint32_t fill;   /* enum fill_kind */
    uint32_t reserved;
    double a, b;    /* parameters of the fill */
    uint64_t value; /* sizes: the size itself */
};

struct layout {
    uint32_t count; /* arguments */
    uint32_t cases; /* of a simple problem, so many, from the first; 0: all */
    uint64_t bytes; /* of the whole slot */
    struct layout_argument arguments[LIMIT_ARGUMENTS];
};

/* An array, which is passed by its address; sizes and scalars go by value. */
static inline bool layout_is_array(const struct layout_argument *argument)
{
    return argument->role != ROLE_SIZE && argument->role != ROLE_SCALAR;
}

static inline bool layout_is_output(const struct layout_argument *argument)
{
    return argument->role == ROLE_OUT || argument->role == ROLE_INOUT;
}

static inline uint64_t layout_argument_bytes(const struct layout_argument *argument)
{
    const struct dtype_facts *facts = dtype_facts(argument->dtype);
    return facts ? argument->count * facts->bytes : 0;
}
