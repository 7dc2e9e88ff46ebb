/* pass_arrays: the arrays of one datum, by name; for pass_read's files alone. */
#pragma once

#include "server/tinker/pass_read.h"

/* Of loss_fn_inputs. Ids where the name says so, else floats. */
struct tinker_array {
    const char *name;
    size_t count;   /* numbers: rows × columns */
    size_t columns; /* 0: a plain list */
    const float *floats;
    const int32_t *ids;
};

#define TINKER_ARRAYS_MAX 8 /* of a datum */

/* Whether the array of this name holds ids. NULL: the engine has no such array. */
const bool *tinker_array_holds_ids(const char *name);
/* "'mask' is no array of a loss here". */
int tinker_array_unknown(const char *name, struct err *err);
/* Checks the shape of an array: at most two dimensions, `count` numbers in all. */
NODISCARD int tinker_array_shape(struct tinker_array *array, const int64_t *shape,
                                 size_t dimensions, struct err *err);
/* Zeroed memory for numbers of 4 bytes, in the arena. NULL, with ERR_LIMIT: there are too many. */
void *tinker_pass_numbers(struct tinker_pass *pass, size_t count, struct err *err);
/* Fills in the next datum. pass->loss is known; datums and columns have space. */
NODISCARD int tinker_pass_add(struct tinker_pass *pass, const int32_t *tokens, size_t count,
                              const struct tinker_array *arrays, size_t array_count,
                              struct err *err);
