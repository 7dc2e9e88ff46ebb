/* problem: what is to be computed.
 *
 * Three formats load into one struct. *native*: a directory with problem.yaml and reference.c.
 * *torch*: one KernelBench-style Python module (Model, get_inputs, get_init_inputs); only its path,
 * text and hash are known here, its shapes are learnt from the reference child. *simple*: a torch
 * problem that has cases in the place of a reference (simple.h).
 *
 * Ownership: problem_load* fill the caller's struct; problem_deinit frees all of it at once (one
 * arena). Immutable after loading, so any number of threads may read it.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "problem/bound.h"
#include "problem/expression.h"
#include "problem/layout.h"

#include <stdbool.h>
#include <stdint.h>

enum problem_format { PROBLEM_NATIVE, PROBLEM_TORCH };

enum tolerance_scale {
    SCALE_NONE, /* |got - expected| <= relative * |expected| + absolute            */
    SCALE_RMS,  /* |got - expected| <= relative * max(|expected|, rms) + absolute,
                   rms = root mean square of the expected tensor                  */
};

struct tolerance {
    double relative;
    double absolute;
    enum tolerance_scale scale;
    bool exact; /* integers, copies: every byte equal; relative and absolute are 0 */
};

struct argument {
    const char *name;
    enum argument_role role;
    uint32_t dtype; /* enum dtype */
    uint32_t dimensions;
    const struct expression *shape[LIMIT_DIMENSIONS];
    enum fill_kind fill;
    const struct expression *a, *b; /* fill parameters, over the sizes; NULL where unused */
    struct tolerance tolerance;     /* outputs: its own, or the problem's */
};

/* One value for each of problem.size_names, in that order. */
struct size_set {
    int64_t value[LIMIT_SIZES];
};

/* Bounds, inclusive, from which the judge draws secret sizes (`draw:`); both 0 where absent. */
struct size_range {
    int64_t low, high;
};

struct problem {
    struct arena arena;
    const char *id;       /* as the user names it: "softmax", "level1/23" */
    const char *name;     /* torch: file name without .py */
    const char *summary;  /* one sentence; torch: first docstring line, or "" */
    const char *category; /* of category.h; "" where it does not say */
    enum problem_format format;
    char hash[HASH_HEX_BYTES]; /* of everything that defines it: yaml and reference, or module */
    const char *directory;     /* holds it */
    const char *yaml_path;     /* native */
    const char *reference_path;
    const char *reference_text; /* reference.c or the module */
    size_t reference_bytes;
    const char *entry_point; /* torch: the class; a candidate's has New behind it. "Model" */
    /* simple only, where reference_text is the module with the cases, and entry_point the
     * candidate's class */
    const char *cases_from; /* "kernel_code", "cases_code", "inline"; NULL: not simple */
    bool compare;           /* against what the cases expect */

    /* native only */
    const char *cuda_path; /* reference.cu: the same function for a GPU; text is NULL: none */
    const char *cuda_text;
    size_t cuda_bytes;
    const char *signature;
    const char *launch; /* how a kernel `solution` is started: launch.h; NULL: it does not say */
    uint32_t argument_count;
    struct argument arguments[LIMIT_ARGUMENTS]; /* in signature order */
    uint32_t size_count;
    const char *size_names[LIMIT_SIZES];
    uint32_t check_count, time_count;
    struct size_set check[LIMIT_SIZE_SETS];
    struct size_set time[LIMIT_SIZE_SETS];
    bool has_draw;
    struct size_range draw[LIMIT_SIZES];
    const struct expression *require; /* must be non-zero for a drawn set of sizes; NULL: any */
    const struct expression *flops, *bytes;
    bool oracle; /* reference.c may be compiled at double precision (key `oracle`, default: all
                    floating arguments are f32 or f16) */
    /* Default tolerance of torch problems stands here too (arguments is empty for those). */
    struct tolerance tolerance;
    /* torch: what the module states of itself; strict and auto where it does not */
    struct answer_bound bound;
    enum torch_precision precision;
};

void problem_deinit(struct problem *problem);

/* "native", "torch", "simple". */
const char *problem_format_name(const struct problem *problem);

/* Places the arguments of a native problem for one set of sizes. ERR_INPUT names the argument whose
 * shape or fill is impossible for them, ERR_LIMIT the one that is too large. */
NODISCARD int problem_layout(const struct problem *problem, const struct size_set *sizes,
                             struct layout *layout, struct err *err);
/* Of all its sizes, the layout that takes most bytes; zeroed if it has none (torch). */
void problem_largest(const struct problem *problem, struct layout *largest);

/* Work of one call, 0 where the problem does not say. */
double problem_flops(const struct problem *problem, const struct size_set *sizes);
double problem_bytes(const struct problem *problem, const struct size_set *sizes);

/* Draws one secret set of sizes within `draw` that satisfies `require`; falls back to a check set
 * after 64 tries. */
void problem_draw_sizes(const struct problem *problem, uint64_t seed, struct size_set *sizes);

/* "rows=64 cols=1000" into text. */
void problem_sizes_text(const struct problem *problem, const struct size_set *sizes, char *text,
                        size_t text_bytes);
