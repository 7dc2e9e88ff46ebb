/* native: problem.yaml -> struct problem.
 *
 * Every error says PATH:LINE:COLUMN of the yaml; unknown keys are refused. What loads is
 * consistent: signature and arguments agree, expressions parse, every row under check: and time:
 * gives all sizes, satisfies require: and can be laid out, and so can what draw: draws.
 *
 *   key          needed  meaning and default
 *   name         yes     the directory's name
 *   summary      yes     one sentence
 *   signature    yes     void solution(...)
 *   arguments    yes     each parameter, in the signature's order
 *   tolerance    where an output is floating and its argument has none; integer outputs: exact
 *                        {relative, absolute, scale: rms (default) | none} or {exact: true}
 *   check, time  yes     lists of sizes
 *   draw         no      ranges of all sizes
 *   require      no      a relation between sizes
 *   category     no      one of category.h
 *   work         no      {flops, bytes}
 *   launch       no      how a device-only candidate's kernel `solution` is started: launch.h
 *   oracle       no      default: all floating arguments are f32 or f16, and there is one
 */
#pragma once

#include "problem/problem.h"

/* From text in memory: fills what the yaml says, and neither id, hash nor reference. The name must
 * be that of the directory in `path_name`, if it has one. On failure nothing is left to free. */
NODISCARD int problem_parse_yaml(struct problem *problem, const char *path_name, const char *text,
                                 size_t bytes, struct err *err);

/* From a directory, into a zeroed problem whose id is set by the caller. On failure the caller
 * frees the arena. */
NODISCARD int native_load(struct problem *problem, const char *directory, struct err *err);

/* The same from texts of a request; `cuda` may be NULL. */
NODISCARD int native_from_text(struct problem *problem, const char *yaml, const char *reference,
                               const char *cuda, struct err *err);

/* Between the files of this parser. */
struct yaml;
struct yaml_node;

#define NATIVE_QUOTE_HINT "between brackets or braces a text with a comma needs quotes: \"f(a, b)\""

struct native {
    struct problem *problem;
    struct yaml *yaml;
    const struct yaml_node *argument_nodes[LIMIT_ARGUMENTS];
    bool tolerance_given[LIMIT_ARGUMENTS];
};

/* The keys arguments: and signature:, against each other. */
NODISCARD int native_arguments(struct native *native, const struct yaml_node *arguments,
                               const struct yaml_node *signature);
/* The launch lines of a device-only source, or the problem's own where it has none, at the sizes of
 * check: and time:. On failure *line as in launch.h. */
NODISCARD int native_try_launch(const struct problem *problem, const char *source, uint32_t *line,
                                struct err *err);
/* An expression over the sizes, or with `names` false over numbers alone. */
NODISCARD int native_expression(struct native *native, const struct yaml_node *node,
                                const char *what, bool names, const struct expression **expression);
NODISCARD int native_tolerance(struct native *native, const struct yaml_node *node,
                               struct tolerance *tolerance);
