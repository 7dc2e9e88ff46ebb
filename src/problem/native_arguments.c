#include "base/array.h"
#include "base/yaml.h"
#include "problem/fill_check.h"
#include "problem/native.h"
#include "problem/signature.h"

#include <stdio.h>
#include <string.h>

static const char *const role_names[] = {"in", "out", "inout", "size", "scalar"};
#define ROLES COUNT(role_names)

static const char *const type_names[DTYPE_COUNT] = {
#define X(symbol, name, bytes, c_name, torch_name, floating) [symbol] = name,
    DTYPES(X)
#undef X
};

/* How many parameters each fill takes. */
static const struct fill_form {
    const char *name;
    enum fill_kind kind;
    uint32_t least, most;
    const char *usage;
} fill_forms[] = {
    {"normal", FILL_NORMAL, 0, 2, "normal or normal(mean, deviation)"},
    {"uniform", FILL_UNIFORM, 2, 2, "uniform(low, high)"},
    {"integer", FILL_INTEGER, 2, 2, "integer(low, high)"},
    {"permutation", FILL_PERMUTATION, 0, 0, "permutation"},
    {"offsets", FILL_OFFSETS, 1, 1, "offsets(total)"},
    {"constant", FILL_CONSTANT, 1, 1, "constant(value)"},
};
#define FILL_FORMS COUNT(fill_forms)

/* Parses one parameter of a fill; `skip` is where it begins in the fill's text. */
static int parse_fill_parameter(struct native *native, const struct yaml_node *node,
                                const char *text, size_t length, size_t skip,
                                const struct expression **expression)
{
    struct problem *problem = native->problem;
    struct err inner;
    uint32_t column = 1;
    char *copy = arena_strndup(&problem->arena, text, length);
    if (expression_parse_placed(&problem->arena, copy, problem->size_names, problem->size_count,
                                expression, &column, &inner) == 0)
        return 0;
    return yaml_fail_inside(native->yaml, node, (uint32_t)skip + column - 1, "fill: %s",
                            inner.text);
}

/* Length of the parameter that begins at `text`: to the next ',' or ')' outside parentheses. */
static size_t parameter_length(const char *text)
{
    size_t length = 0;
    for (int depth = 0; text[length] != '\0'; length++) {
        char c = text[length];
        if (depth == 0 && (c == ',' || c == ')'))
            break;
        depth += (c == '(') - (c == ')');
    }
    return length;
}

/* The parameters between the parentheses of a fill, which begin at `at`. */
static int parse_fill_parameters(struct native *native, const struct yaml_node *node, size_t at,
                                 struct argument *argument, uint32_t *count)
{
    const struct expression **into[] = {&argument->a, &argument->b};
    const char *text = node->text;
    for (*count = 0; *count < 2;) {
        size_t length = parameter_length(text + at);
        int result = parse_fill_parameter(native, node, text + at, length, at, into[*count]);
        if (result < 0)
            return result;
        *count += 1;
        at += length;
        if (text[at] == '\0')
            return yaml_fail_inside(native->yaml, node, (uint32_t)at,
                                    "fill: missing ')'; " NATIVE_QUOTE_HINT);
        if (text[at++] == ')')
            break;
    }
    if (text[at - 1] != ')' || text[at] != '\0')
        return yaml_fail_inside(native->yaml, node, (uint32_t)at,
                                "fill: expected nothing more here");
    return 0;
}

static int parse_fill(struct native *native, const struct yaml_node *node,
                      struct argument *argument)
{
    int result = yaml_expect(native->yaml, node, YAML_SCALAR, "fill");
    if (result < 0)
        return result;
    size_t length = strcspn(node->text, " (");
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)length, node->text);
    const char *names[FILL_FORMS];
    for (size_t i = 0; i < FILL_FORMS; i++)
        names[i] = fill_forms[i].name;
    struct yaml_node name = *node;
    name.text = word;
    uint32_t choice;
    result = yaml_expect_choice(native->yaml, &name, "fill", names, FILL_FORMS, &choice);
    if (result < 0)
        return result;
    const struct fill_form *form = &fill_forms[choice];
    argument->fill = form->kind;
    uint32_t count = 0;
    const char *open = node->text + length + strspn(node->text + length, " ");
    if (*open == '(')
        result = parse_fill_parameters(native, node, (size_t)(open - node->text) + 1, argument,
                                       &count);
    else if (*open != '\0')
        return yaml_fail_inside(native->yaml, node, (uint32_t)(open - node->text),
                                "fill: expected '(' or nothing more here");
    if (result < 0)
        return result;
    if (count < form->least || count > form->most || (form->kind == FILL_NORMAL && count == 1))
        return yaml_fail(native->yaml, node, "fill: write %s", form->usage);
    const char *why = fill_check_kind(form->kind, argument->dtype, argument->role == ROLE_SCALAR);
    if (why)
        return yaml_fail(native->yaml, node, "fill '%s' of '%s' (%s): %s", form->name,
                         argument->name, type_names[argument->dtype], why);
    if (form->kind == FILL_NORMAL && count == 0) {
        result = expression_parse(&native->problem->arena, "0", NULL, 0, &argument->a,
                                  native->yaml->err);
        if (result == 0)
            result = expression_parse(&native->problem->arena, "1", NULL, 0, &argument->b,
                                      native->yaml->err);
    }
    return result;
}

static int parse_shape(struct native *native, const struct yaml_node *node,
                       struct argument *argument)
{
    int result = yaml_expect(native->yaml, node, YAML_SEQUENCE, "shape");
    if (result < 0)
        return result;
    if (node->count == 0 || node->count > LIMIT_DIMENSIONS)
        return yaml_fail(native->yaml, node, "a shape has 1 to %d dimensions, not %u",
                         LIMIT_DIMENSIONS, node->count);
    for (const struct yaml_node *entry = node->first; entry && result == 0; entry = entry->next)
        result = native_expression(native, entry, "a dimension", true,
                                   &argument->shape[argument->dimensions++]);
    return result;
}

/* Whether a key stands where the role wants it. */
static int check_presence(struct native *native, const struct yaml_node *argument_node,
                          const char *key, uint32_t role, bool wanted, bool allowed)
{
    const struct yaml_node *node = yaml_get(argument_node, key);
    if (node && !allowed)
        return yaml_fail(native->yaml, node->key, "'%s' takes no %s: its role is %s",
                         argument_node->key->text, key, role_names[role]);
    if (!node && wanted)
        return yaml_fail(native->yaml, argument_node->key, "'%s' needs a %s: its role is %s",
                         argument_node->key->text, key, role_names[role]);
    return 0;
}

static int check_presences(struct native *native, const struct yaml_node *node, uint32_t role)
{
    bool size = role == ROLE_SIZE, scalar = role == ROLE_SCALAR, out = role == ROLE_OUT;
    bool array = !size && !scalar;
    int result = check_presence(native, node, "type", role, !size, !size);
    if (result == 0)
        result = check_presence(native, node, "shape", role, array, array);
    if (result == 0)
        result = check_presence(native, node, "fill", role, !size && !out, !size && !out);
    if (result == 0)
        result = check_presence(native, node, "tolerance", role, false, out || role == ROLE_INOUT);
    return result;
}

/* First pass over one argument: its role, so that all sizes are known before the first shape. */
static int parse_role(struct native *native, const struct yaml_node *node,
                      struct argument *argument)
{
    static const char *const keys[] = {"role", "type", "shape", "fill", "tolerance"};
    struct problem *problem = native->problem;
    const struct yaml_node *fill = node->kind == YAML_MAPPING ? yaml_get(node, "fill") : NULL;
    argument->name = node->key->text;
    if (strlen(argument->name) >= LIMIT_NAME_BYTES)
        return yaml_fail(native->yaml, node->key, "the name is too long");
    /* The frequent slip first: it leaves the strange key "1)" behind. */
    if (fill && fill->kind == YAML_SCALAR && strchr(fill->text, '(') && !strchr(fill->text, ')'))
        return yaml_fail(native->yaml, fill, "fill: missing ')'; " NATIVE_QUOTE_HINT);
    int result = yaml_expect_keys(native->yaml, node, "an argument", keys, COUNT(keys));
    if (result < 0)
        return result;
    const struct yaml_node *role_node = yaml_get(node, "role");
    if (!role_node)
        return yaml_fail(native->yaml, node->key, "'%.60s' has no role", argument->name);
    uint32_t role;
    result = yaml_expect_choice(native->yaml, role_node, "role", role_names, ROLES, &role);
    if (result < 0)
        return result;
    argument->role = role;
    if (role != ROLE_SIZE)
        return 0;
    argument->dtype = DTYPE_U64;
    if (expression_reserves(argument->name))
        return yaml_fail(native->yaml, node->key,
                         "a size may not be called '%s': that is a function", argument->name);
    if (problem->size_count == LIMIT_SIZES)
        return yaml_fail(native->yaml, node->key, "more than %d sizes", LIMIT_SIZES);
    problem->size_names[problem->size_count++] = argument->name;
    return 0;
}

/* Second pass: everything else. */
static int parse_argument(struct native *native, uint32_t index)
{
    struct argument *argument = &native->problem->arguments[index];
    const struct yaml_node *node = native->argument_nodes[index];
    int result = check_presences(native, node, argument->role);
    if (result < 0 || argument->role == ROLE_SIZE)
        return result;
    result = yaml_expect_choice(native->yaml, yaml_get(node, "type"), "type", type_names,
                                DTYPE_COUNT, &argument->dtype);
    const struct yaml_node *shape = yaml_get(node, "shape");
    if (result == 0 && shape)
        result = parse_shape(native, shape, argument);
    const struct yaml_node *fill = yaml_get(node, "fill");
    if (result == 0 && fill)
        result = parse_fill(native, fill, argument);
    const struct yaml_node *tolerance = yaml_get(node, "tolerance");
    if (result == 0 && tolerance) {
        native->tolerance_given[index] = true;
        result = native_tolerance(native, tolerance, &argument->tolerance);
    }
    return result;
}

/* "const float *x", as the signature has to say it. */
static void wanted_parameter(const struct argument *argument, char *text, size_t text_bytes)
{
    const char *type = dtype_facts(argument->dtype)->c_name;
    if (argument->role == ROLE_SIZE)
        snprintf(text, text_bytes, "size_t %s", argument->name);
    else
        snprintf(text, text_bytes, "%s%s %s%s", argument->role == ROLE_IN ? "const " : "", type,
                 argument->role == ROLE_SCALAR ? "" : "*", argument->name);
}

static bool parameter_agrees(const struct parameter *parameter, const struct argument *argument)
{
    if (argument->role == ROLE_SIZE)
        return !parameter->pointer && strcmp(parameter->type, "size_t") == 0;
    const char *type = argument->dtype == DTYPE_BOOL && strcmp(parameter->type, "bool") == 0
                           ? "_Bool"
                           : parameter->type;
    if (strcmp(type, dtype_facts(argument->dtype)->c_name) != 0)
        return false;
    if (argument->role == ROLE_SCALAR)
        return !parameter->pointer;
    return parameter->pointer && parameter->constant == (argument->role == ROLE_IN);
}

static int check_signature(struct native *native, const struct yaml_node *node,
                           const struct signature *signature)
{
    const struct problem *problem = native->problem;
    for (uint32_t i = 0; i < signature->count && i < problem->argument_count; i++) {
        const struct parameter *parameter = &signature->parameters[i];
        const struct argument *argument = &problem->arguments[i];
        char wanted[2 * LIMIT_NAME_BYTES];
        if (strcmp(parameter->name, argument->name) != 0)
            return yaml_fail_inside(native->yaml, node, parameter->column - 1,
                                    "parameter %u is '%.60s' here but '%.60s' under arguments: "
                                    "names and order must agree",
                                    i + 1, parameter->name, argument->name);
        wanted_parameter(argument, wanted, sizeof wanted);
        if (!parameter_agrees(parameter, argument))
            return yaml_fail_inside(native->yaml, node, parameter->column - 1,
                                    "as argument '%.60s' is declared, this must be '%s'",
                                    argument->name, wanted);
    }
    if (signature->count > problem->argument_count)
        return yaml_fail_inside(native->yaml, node,
                                signature->parameters[problem->argument_count].column - 1,
                                "parameter '%.60s' is missing under arguments",
                                signature->parameters[problem->argument_count].name);
    if (signature->count < problem->argument_count)
        return yaml_fail(native->yaml, native->argument_nodes[signature->count]->key,
                         "argument '%.60s' is missing in the signature",
                         problem->arguments[signature->count].name);
    return 0;
}

int native_arguments(struct native *native, const struct yaml_node *arguments,
                     const struct yaml_node *signature_node)
{
    struct problem *problem = native->problem;
    int result = yaml_expect(native->yaml, arguments, YAML_MAPPING, "arguments");
    if (result < 0)
        return result;
    bool computes = false;
    for (const struct yaml_node *node = arguments->first; node; node = node->next) {
        if (problem->argument_count == LIMIT_ARGUMENTS)
            return yaml_fail(native->yaml, node->key, "more than %d arguments", LIMIT_ARGUMENTS);
        struct argument *argument = &problem->arguments[problem->argument_count];
        native->argument_nodes[problem->argument_count++] = node;
        result = parse_role(native, node, argument);
        if (result < 0)
            return result;
        computes = computes || argument->role == ROLE_OUT || argument->role == ROLE_INOUT;
    }
    if (!computes)
        return yaml_fail(native->yaml, arguments->key,
                         "no argument is out or inout: nothing is computed");
    for (uint32_t i = 0; i < problem->argument_count && result == 0; i++)
        result = parse_argument(native, i);
    if (result == 0)
        result = yaml_expect(native->yaml, signature_node, YAML_SCALAR, "signature");
    if (result < 0)
        return result;
    struct signature signature;
    struct err inner;
    uint32_t column = 1;
    problem->signature = signature_node->text;
    if (signature_parse(&problem->arena, problem->signature, &signature, &column, &inner) < 0)
        return yaml_fail_inside(native->yaml, signature_node, column - 1, "signature: %s",
                                inner.text);
    return check_signature(native, signature_node, &signature);
}
