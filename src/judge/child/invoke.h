/* invoke: calling a C function whose signature is only known at run time.
 *
 * A layout says what each parameter is: a pointer into the slot, a size_t, or a scalar by value.
 * libffi builds the call once for a slot; each invoke then costs some tens of nanoseconds, and
 * reads sizes and scalars from the slot, where the judge may have changed them.
 */
#pragma once

#include "problem/layout.h"

#include <ffi.h>

struct invoke {
    void *function;
    ffi_cif cif;
    ffi_type *types[LIMIT_ARGUMENTS];
    void *values[LIMIT_ARGUMENTS];
    void *pointers[LIMIT_ARGUMENTS];
};

/* Sizes and scalars are read from `slot`; arrays lie at `arrays`, which is the slot, too, or memory
 * of a GPU. Keeps pointers into both and into itself: the struct must not move. < 0: not callable.
 */
int invoke_init(struct invoke *invoke, void *function, const struct layout *layout, void *slot,
                void *arrays);
void invoke(struct invoke *invoke);
