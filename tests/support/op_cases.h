/* op_cases: every operation of lm/ops/ops.h, forward and backward, over random arrays of odd sizes,
 * for whichever backend is asked. One case on one backend is a run; runs of one case on two
 * backends begin with the same arrays, and must end with nearly the same.
 */
#ifndef WARPGYM_TESTS_OP_CASES_H
#define WARPGYM_TESTS_OP_CASES_H

#include "lm/ops/backend.h"

#define OP_ARRAYS_MAX 24
#define OP_SIZES 8

struct op_run {
    struct lm_backend *backend;
    uint64_t state; /* of the random numbers */
    struct op_array {
        const char *name; /* NULL: scratch, not compared */
        void *memory;     /* the backend's */
        size_t bytes;
        bool whole_numbers;
    } arrays[OP_ARRAYS_MAX];
    size_t count;
};

struct op_case {
    const char *name;
    void (*run)(struct op_run *run, const size_t *size);
    double bound; /* of a difference, in the array's root mean square */
    size_t size[OP_SIZES];
};

extern const struct op_case op_cases[]; /* the last has no name */

void op_run_init(struct op_run *run, struct lm_backend *backend, const struct op_case *row);
void op_run_deinit(struct op_run *run);
/* Fails the test where an array of `got` is further from `wanted` than `bound`; 0: in any bit. */
void op_compare(const struct op_case *row, const struct op_run *wanted, const struct op_run *got,
                const char *who, double bound);

#endif
