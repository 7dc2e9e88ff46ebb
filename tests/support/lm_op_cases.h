/* lm_op_cases: every operation of lm/ops/ops.h as instances of odd shapes, with random values, that
 * run on any backend: against differences (tests/lm/test_ops.c) and one backend against another
 * (tests/lm/test_backends.c).
 *
 * A case is a list of arrays by the names of the op's members. Values are kept as doubles, each a
 * number that its type holds exactly. One run uploads all arrays with their `start`, goes forward
 * (outputs are found), then backward where there is one (all else is found), and frees all.
 */
#pragma once

#include "lm/ops/backend.h"

#define LM_OP_ARRAYS 16
#define LM_OP_SIZES 8

enum lm_op_type { LM_OP_ELEMENT, LM_OP_F32, LM_OP_F64, LM_OP_INDEX };

enum {
    LM_OP_OUTPUT = 1,   /* forward writes it */
    LM_OP_GRADIENT = 2, /* backward writes it ... */
    LM_OP_ADDED = 4,    /* ... by adding to what is there */
    LM_OP_OPTIONAL = 8, /* may be NULL */
    LM_OP_SCRATCH = 16, /* never found */
};

struct lm_op_array {
    const char *name;
    enum lm_op_type type;
    int flags;
    const char *partner; /* of an output: its gradient, given; of a gradient: of what; or NULL */
    size_t count;
    bool absent; /* NULL in the next run */
    double *start, *found;
    void *memory;
};

struct lm_op_case {
    const char *op, *variant;
    size_t sizes[LM_OP_SIZES];
    double numbers[2]; /* scale, epsilon, temperature */
    double bound;      /* of what two backends in f32 may differ by, for lm_op_array_far */
    bool add_dx, backward;
    bool large; /* of a size that fast backends cut into parts: too much for differences */
    void (*run)(const struct lm_op_case *c, struct lm_backend *backend, bool backward);
    struct lm_op_array arrays[LM_OP_ARRAYS];
    size_t count;
};

extern const size_t lm_op_case_count;

/* Case `index` with its values; the same each time. */
void lm_op_case_init(struct lm_op_case *c, size_t index);
void lm_op_case_deinit(struct lm_op_case *c);
struct lm_op_array *lm_op_case_find(struct lm_op_case *c, const char *name);

/* Forward alone with `backward` false: only outputs are found. 0, or the backend's complaint. */
NODISCARD int lm_op_case_run(struct lm_op_case *c, struct lm_backend *backend, bool backward,
                             struct err *err);

/* The first place that is further off than `bound` in the array's size (its root mean square, and
 * the value itself); with 0, that differs in any bit. -1: there is none. */
long lm_op_array_far(const struct lm_op_array *wanted, const struct lm_op_array *found,
                     double bound);
