/* What templates may say of a problem. docs/reference/prompts.md lists it. */
#include "gym/prompt/prompt.h"

#include "base/array.h"
#include "base/json.h"
#include "problem/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 4096
#define MEGA 1e6

static const char *const role_names[] = {
    [ROLE_IN] = "in",     [ROLE_OUT] = "out",       [ROLE_INOUT] = "inout",
    [ROLE_SIZE] = "size", [ROLE_SCALAR] = "scalar",
};

/* "[rows, 2*cols]"; null for what is passed by value. */
static json_t *shape_text(const struct argument *argument)
{
    struct buf text;
    if (argument->dimensions == 0)
        return json_null();
    buf_init(&text, TEXT_BYTES);
    for (uint32_t d = 0; d < argument->dimensions; d++)
        buf_printf(&text, "%s%s", d ? ", " : "[", expression_text(argument->shape[d]));
    buf_puts(&text, "]");
    json_t *value = json_text(text.data);
    buf_deinit(&text);
    return value;
}

static json_t *arguments_json(const struct problem *problem)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        const struct argument *argument = &problem->arguments[i];
        const struct dtype_facts *type = dtype_facts(argument->dtype);
        json_t *row = json_object();
        json_put(row, "name", json_text(argument->name));
        json_put(row, "role", json_text(role_names[argument->role]));
        json_put(row, "type", json_text(argument->role == ROLE_SIZE || !type ? NULL : type->name));
        json_put(row, "shape", shape_text(argument));
        json_array_append_new(list, row);
    }
    return list;
}

/* Only the timed sizes: a candidate must be correct for all sizes. */
static json_t *sizes_json(const struct problem *problem)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < problem->time_count; i++) {
        char text[256];
        double flops = problem_flops(problem, &problem->time[i]);
        double bytes = problem_bytes(problem, &problem->time[i]);
        json_t *row = json_object();
        problem_sizes_text(problem, &problem->time[i], text, sizeof text);
        json_put(row, "sizes", json_text(text));
        json_put(row, "megaflops", flops > 0 ? json_number(flops / MEGA) : json_null());
        json_put(row, "megabytes", bytes > 0 ? json_number(bytes / MEGA) : json_null());
        json_array_append_new(list, row);
    }
    return list;
}

static void add_type(json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), name) == 0)
            return;
    json_array_append_new(list, json_text(name));
}

/* Floating types of a native problem's arguments, or those that a module's text names. A module
 * that names none computes in float32, PyTorch's default. */
static json_t *types_json(const struct problem *problem)
{
    static const struct {
        const char *written, *name;
    } words[] = {
        {"float16", "f16"}, {".half(", "f16"},   {"bfloat16", "bf16"},
        {"float64", "f64"}, {".double(", "f64"}, {"float32", "f32"},
    };
    json_t *list = json_array();
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        const struct argument *argument = &problem->arguments[i];
        const struct dtype_facts *type = dtype_facts(argument->dtype);
        if (argument->role != ROLE_SIZE && type && type->floating)
            add_type(list, type->name);
    }
    for (size_t i = 0; problem->format == PROBLEM_TORCH && i < COUNT(words); i++)
        for (const char *at = problem->reference_text; (at = strstr(at, words[i].written)); at++)
            /* "bfloat16" holds the other one */
            if (at == problem->reference_text || at[-1] != 'b' || words[i].written[0] != 'f')
                add_type(list, words[i].name);
    if (problem->format == PROBLEM_TORCH && json_array_size(list) == 0)
        add_type(list, "f32");
    return list;
}

static json_t *joined(const json_t *list)
{
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(&text, "%s%s", i ? ", " : "", json_string_value(json_array_get(list, i)));
    json_t *value = json_text(text.len ? text.data : NULL);
    buf_deinit(&text);
    return value;
}

/* The strictest tolerance of an output, in a word: enough to choose an arithmetic, and no
 * target. */
static const char *accuracy(const struct problem *problem)
{
    double relative = problem->format == PROBLEM_TORCH ? problem->tolerance.relative : INFINITY;
    bool exact = problem->argument_count > 0;
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument->role != ROLE_OUT && argument->role != ROLE_INOUT)
            continue;
        exact = exact && argument->tolerance.exact;
        if (!argument->tolerance.exact)
            relative = fmin(relative, argument->tolerance.relative);
    }
    return exact ? "exact" : relative < 1e-7 ? "double" : relative <= 2e-4 ? "single" : "half";
}

static void put_native(json_t *facts, const struct problem *problem)
{
    bool native = problem->format == PROBLEM_NATIVE;
    json_put(facts, "signature", json_text(native ? problem->signature : NULL));
    json_put(facts, "launch", json_text(native ? problem->launch : NULL));
    json_put(facts, "reference_cuda", json_text(native ? problem->cuda_text : NULL));
    json_put(facts, "arguments", arguments_json(problem));
    json_put(facts, "sizes", sizes_json(problem));
}

/* A simple problem's entry point is the candidate's class itself. */
static void put_torch(json_t *facts, const struct problem *problem)
{
    bool torch = problem->format == PROBLEM_TORCH;
    const char *point = problem->entry_point ? problem->entry_point : "Model";
    char candidate[2 * LIMIT_NAME_BYTES];
    snprintf(candidate, sizeof candidate, "%.*s%s", LIMIT_NAME_BYTES, point,
             problem->cases_from ? "" : "New");
    json_put(facts, "entry_point", json_text(torch && !problem->cases_from ? point : NULL));
    json_put(facts, "candidate_class", json_text(torch ? candidate : NULL));
    json_put(facts, "cases", json_boolean(problem->cases_from != NULL));
}

json_t *prompt_problem(const struct problem *problem)
{
    json_t *facts = json_object();
    json_t *types = types_json(problem);
    json_put(facts, "id", json_text(problem->id));
    json_put(facts, "name", json_text(problem->name));
    json_put(facts, "summary", json_text(problem->summary ? problem->summary : ""));
    json_put(facts, "format", json_text(problem_format_name(problem)));
    json_put(facts, "reference", json_text(problem->reference_text));
    json_put(facts, "fence", json_text(problem->format == PROBLEM_NATIVE ? "c" : "python"));
    json_put(facts, "precision", joined(types));
    json_put(facts, "types", types);
    json_put(facts, "accuracy", json_text(accuracy(problem)));
    put_native(facts, problem);
    put_torch(facts, problem);
    return facts;
}
