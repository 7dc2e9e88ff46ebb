/* launch: how a device-only CUDA candidate is started: lines in the comments of its source.
 *
 *   // scratch: sums bytes=4*rows
 *   // launch: row_sums grid=(rows) block=(256) shared=4*256 args=(x, sums, int(cols))
 *   // launch: divide grid=(ceil_div(rows*cols, 256)) block=(256) args=(x, sums, y, rows, cols)
 *
 *   line     = "//" ( "launch:" kernel { " " key "=" value } | "scratch:" name "bytes=" value )
 *   key      = "grid" | "block" | "shared" | "args"      grid and block must be there
 *   value    = expression | "(" expression { "," expression } ")"
 *   argument = name of a parameter, or of a scratch buffer | type "(" expression ")" | expression
 *
 * Expressions are those of problem/expression.h over the problem's sizes; grid and block have one
 * to three of them. Without `args` the kernel takes the signature's parameters in their order. An
 * array goes by its address, a size as size_t, a scalar by its value; `int(rows)` passes a size, or
 * what is computed of sizes, as another type. Several lines start several kernels, in their order.
 * A scratch buffer is device memory that lives as long as the candidate and is never cleared.
 *
 * Parsed by the judge, which reports a wrong line to the candidate's author, and again in the
 * candidate's process, which evaluates it for each layout: the result concerns the
 * candidate alone. Bounded; every string is the arena's.
 */
#pragma once

#include "problem/expression.h"
#include "problem/signature.h"

#define LAUNCH_CALLS 8
#define LAUNCH_SCRATCHES 8
#define LAUNCH_ARGUMENTS 32
#define LAUNCH_LINE_BYTES 2048

enum launch_source { LAUNCH_PARAMETER, LAUNCH_SCRATCH, LAUNCH_VALUE };

struct launch_argument {
    uint32_t source; /* enum launch_source */
    uint32_t index;  /* of the parameter, or of the scratch buffer */
    uint32_t type;   /* LAUNCH_VALUE: private to launch.c */
    uint32_t bytes;  /* LAUNCH_VALUE: of that type */
    const struct expression *value;
};

struct launch_call {
    const char *kernel;
    uint32_t line;                               /* of the source, from 1 */
    const struct expression *grid[3], *block[3]; /* NULL: 1 */
    const struct expression *shared;             /* NULL: 0 */
    uint32_t argument_count;
    struct launch_argument arguments[LAUNCH_ARGUMENTS];
};

struct launch_scratch {
    const char *name;
    uint32_t line;
    const struct expression *bytes;
};

struct launch {
    uint32_t call_count, scratch_count;
    struct launch_call calls[LAUNCH_CALLS];
    struct launch_scratch scratches[LAUNCH_SCRATCHES];
};

/* What is to be started, for one set of sizes. */
struct launch_numbers {
    uint32_t grid[3], block[3], shared_bytes;
    uint64_t values[LAUNCH_ARGUMENTS]; /* LAUNCH_VALUE: as it lies in memory */
};

struct launch_plan {
    struct launch_numbers calls[LAUNCH_CALLS];
    uint64_t scratch_bytes[LAUNCH_SCRATCHES];
};

/* Whether a source is a device-only candidate: it has a launch line, or the problem gives one
 * (`fallback`, NULL: none) and its kernel `solution` is a `__global__` one; and it has no host
 * function `solution`, which could start its kernels by itself. */
bool launch_wanted(const char *source, const char *fallback);

/* All launch and scratch lines of a source; where it has none, `fallback` (NULL: none), which is
 * what stands behind "launch: solution". On failure *line says which one of the source (0: the
 * fallback). */
NODISCARD int launch_parse(struct arena *arena, const struct signature *signature,
                           const char *source, const char *fallback, struct launch *launch,
                           uint32_t *line, struct err *err);

/* The sizes among the signature's parameters: their places, in order. Returns how many. */
uint32_t launch_sizes(const struct signature *signature, uint32_t places[LIMIT_SIZES]);

/* `sizes` as launch_sizes orders them. On failure *line as above. */
NODISCARD int launch_evaluate(const struct launch *launch, const int64_t *sizes,
                              struct launch_plan *plan, uint32_t *line, struct err *err);
