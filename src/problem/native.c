#include "problem/native.h"

#include "base/array.h"
#include "base/file.h"
#include "base/yaml.h"
#include "problem/category.h"
#include "problem/draw.h"

#include <math.h>
#include <string.h>

#define SIZE_MOST 0x1p53 /* expressions are exact up to here */

/* Between brackets or braces a comma ends a plain text, which leaves a '(' open. */
static bool cut_at_comma(const struct yaml_node *node)
{
    int open = 0;
    for (const char *at = node->text; *at; at++)
        open += (*at == '(') - (*at == ')');
    return node->plain && open > 0;
}

int native_expression(struct native *native, const struct yaml_node *node, const char *what,
                      bool names, const struct expression **expression)
{
    struct problem *problem = native->problem;
    int result = yaml_expect(native->yaml, node, YAML_SCALAR, what);
    if (result < 0)
        return result;
    struct err inner;
    uint32_t column = 1;
    if (expression_parse_placed(&problem->arena, node->text, problem->size_names,
                                names ? problem->size_count : 0, expression, &column, &inner) == 0)
        return 0;
    return yaml_fail_inside(native->yaml, node, column - 1, "%s: %s%s", what, inner.text,
                            cut_at_comma(node) ? "; " NATIVE_QUOTE_HINT : "");
}

static int parse_number(struct native *native, const struct yaml_node *node, const char *what,
                        double *value)
{
    const struct expression *expression;
    int result = native_expression(native, node, what, false, &expression);
    if (result == 0)
        *value = expression_value(expression, NULL);
    return result;
}

static int parse_size(struct native *native, const struct yaml_node *node, int64_t *size)
{
    double value = 0;
    int result = parse_number(native, node, "a size", &value);
    if (result < 0)
        return result;
    if (!(value >= 1 && value <= SIZE_MOST) || value != floor(value))
        return yaml_fail(native->yaml, node, "a size is a whole number from 1 on, not %.60s",
                         node->text);
    *size = (int64_t)value;
    return 0;
}

int native_tolerance(struct native *native, const struct yaml_node *node,
                     struct tolerance *tolerance)
{
    static const char *const keys[] = {"relative", "absolute", "scale", "exact"};
    static const char *const scales[] = {"none", "rms"};
    int result = yaml_expect_keys(native->yaml, node, "tolerance", keys, COUNT(keys));
    if (result < 0)
        return result;
    *tolerance = (struct tolerance){.scale = SCALE_RMS};
    const struct yaml_node *exact = yaml_get(node, "exact");
    const struct yaml_node *relative = yaml_get(node, "relative");
    const struct yaml_node *absolute = yaml_get(node, "absolute");
    const struct yaml_node *scale = yaml_get(node, "scale");
    if (exact)
        result = yaml_expect_bool(native->yaml, exact, "exact", &tolerance->exact);
    if (result == 0 && relative)
        result = parse_number(native, relative, "relative", &tolerance->relative);
    if (result == 0 && absolute)
        result = parse_number(native, absolute, "absolute", &tolerance->absolute);
    if (result == 0 && scale) {
        uint32_t choice;
        result = yaml_expect_choice(native->yaml, scale, "scale", scales, 2, &choice);
        tolerance->scale = result == 0 && choice == 0 ? SCALE_NONE : SCALE_RMS;
    }
    if (result < 0)
        return result;
    if (relative && !(tolerance->relative >= 0 && tolerance->relative < 1))
        return yaml_fail(native->yaml, relative, "relative must be from 0 to below 1, not %.60s",
                         relative->text);
    if (absolute && !(tolerance->absolute >= 0 && isfinite(tolerance->absolute)))
        return yaml_fail(native->yaml, absolute, "absolute must be a number from 0 on, not %.60s",
                         absolute->text);
    if (exact && tolerance->exact && (relative || absolute || scale))
        return yaml_fail(native->yaml, exact->key, "exact: true allows no other key");
    if (!tolerance->exact && tolerance->relative == 0 && tolerance->absolute == 0)
        return yaml_fail(native->yaml, node,
                         "a tolerance of nothing: write {exact: true}, or a relative one");
    if (tolerance->exact)
        tolerance->scale = SCALE_NONE;
    return 0;
}

/* Gives each output its tolerance: its own, the problem's, or exact where it holds integers. */
static int parse_tolerances(struct native *native, const struct yaml_node *node)
{
    struct problem *problem = native->problem;
    if (node) {
        int result = native_tolerance(native, node, &problem->tolerance);
        if (result < 0)
            return result;
    }
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        struct argument *argument = &problem->arguments[i];
        bool output = argument->role == ROLE_OUT || argument->role == ROLE_INOUT;
        if (!output || native->tolerance_given[i])
            continue;
        if (node)
            argument->tolerance = problem->tolerance;
        else if (!dtype_facts(argument->dtype)->floating)
            argument->tolerance.exact = true;
        else
            return yaml_fail(native->yaml, native->argument_nodes[i]->key,
                             "'%.60s' has no tolerance: it is floating, and the key 'tolerance' "
                             "is missing",
                             argument->name);
    }
    return 0;
}

/* What holds for every set of sizes that a call may have. */
static int check_sizes(struct native *native, const struct yaml_node *node, const char *what,
                       const struct size_set *sizes)
{
    const struct problem *problem = native->problem;
    struct layout layout;
    struct err inner;
    char text[LIMIT_SIZES * 32];
    problem_sizes_text(problem, sizes, text, sizeof text);
    if (!draw_accepts(problem, sizes))
        return yaml_fail(native->yaml, node, "%s %s does not satisfy 'require: %s'", what, text,
                         expression_text(problem->require));
    if (problem_layout(problem, sizes, &layout, &inner) < 0)
        return yaml_fail(native->yaml, node, "%s: %s", what, inner.text);
    double flops = problem_flops(problem, sizes), bytes = problem_bytes(problem, sizes);
    if (!(flops >= 0 && bytes >= 0 && isfinite(flops) && isfinite(bytes)))
        return yaml_fail(native->yaml, node,
                         "%s %s: work is %g flops and %g bytes; both must be numbers from 0 on",
                         what, text, flops, bytes);
    return 0;
}

/* One {name: value, ...} with exactly the problem's sizes. */
static int check_row_keys(struct native *native, const struct yaml_node *row, const char *what)
{
    const struct problem *problem = native->problem;
    int result = yaml_expect_keys(native->yaml, row, what, problem->size_names,
                                  problem->size_count);
    for (uint32_t i = 0; i < problem->size_count && result == 0; i++)
        if (!yaml_get(row, problem->size_names[i]))
            return yaml_fail(native->yaml, row, "%s gives no value for '%.60s'", what,
                             problem->size_names[i]);
    return result;
}

static int parse_rows(struct native *native, const struct yaml_node *node, const char *what,
                      struct size_set *sets, uint32_t *count)
{
    const struct problem *problem = native->problem;
    int result = yaml_expect(native->yaml, node, YAML_SEQUENCE, what);
    if (result < 0)
        return result;
    if (node->count == 0 || node->count > LIMIT_SIZE_SETS)
        return yaml_fail(native->yaml, node, "%s has 1 to %d rows, not %u", what, LIMIT_SIZE_SETS,
                         node->count);
    for (const struct yaml_node *row = node->first; row; row = row->next) {
        struct size_set *set = &sets[*count];
        result = check_row_keys(native, row, what);
        for (uint32_t i = 0; i < problem->size_count && result == 0; i++)
            result = parse_size(native, yaml_get(row, problem->size_names[i]), &set->value[i]);
        if (result == 0)
            result = check_sizes(native, row, what, set);
        if (result < 0)
            return result;
        for (uint32_t i = 0; i < *count; i++)
            if (memcmp(&sets[i], set, sizeof *set) == 0)
                return yaml_fail(native->yaml, row, "%s: the same sizes as row %u", what, i + 1);
        *count += 1;
    }
    return 0;
}

static int parse_range(struct native *native, const struct yaml_node *node,
                       struct size_range *range)
{
    int result = yaml_expect(native->yaml, node, YAML_SEQUENCE, "a range of draw");
    if (result < 0)
        return result;
    if (node->count != 2)
        return yaml_fail(native->yaml, node,
                         "a range is [low, high], both inclusive, not %u numbers", node->count);
    result = parse_size(native, node->first, &range->low);
    if (result == 0)
        result = parse_size(native, node->first->next, &range->high);
    if (result == 0 && range->low > range->high)
        return yaml_fail(native->yaml, node, "the range [%lld, %lld] is empty",
                         (long long)range->low, (long long)range->high);
    return result;
}

/* Ranges are tried out: what the judge draws later must be found within its tries and be possible.
 * The largest corner is tried as well, for memory. */
static int parse_draw(struct native *native, const struct yaml_node *node)
{
    struct problem *problem = native->problem;
    int result = check_row_keys(native, node, "draw");
    for (uint32_t i = 0; i < problem->size_count && result == 0; i++)
        result = parse_range(native, yaml_get(node, problem->size_names[i]), &problem->draw[i]);
    if (result < 0)
        return result;
    problem->has_draw = true;
    struct size_set sizes = {0};
    for (uint32_t i = 0; i < problem->size_count; i++)
        sizes.value[i] = problem->draw[i].high;
    if (draw_accepts(problem, &sizes))
        result = check_sizes(native, node, "draw", &sizes);
    bool found = false;
    for (uint64_t seed = 0; seed < 16 && result == 0; seed++) {
        if (!draw_sizes(problem, seed, &sizes))
            continue;
        found = true;
        result = check_sizes(native, node, "draw", &sizes);
    }
    if (result == 0 && !found)
        return yaml_fail(native->yaml, node,
                         "1024 sets were drawn from these ranges, and none satisfies 'require: %s'",
                         problem->require ? expression_text(problem->require) : "");
    return result;
}

static int parse_work(struct native *native, const struct yaml_node *node)
{
    static const char *const keys[] = {"flops", "bytes"};
    struct problem *problem = native->problem;
    int result = yaml_expect_keys(native->yaml, node, "work", keys, 2);
    const struct yaml_node *flops = result == 0 ? yaml_get(node, "flops") : NULL;
    const struct yaml_node *bytes = result == 0 ? yaml_get(node, "bytes") : NULL;
    if (flops)
        result = native_expression(native, flops, "flops", true, &problem->flops);
    if (result == 0 && bytes)
        result = native_expression(native, bytes, "bytes", true, &problem->bytes);
    return result;
}

static int parse_oracle(struct native *native, const struct yaml_node *node)
{
    struct problem *problem = native->problem;
    uint32_t widened = 0, others = 0;
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        uint32_t dtype = problem->arguments[i].dtype;
        widened += dtype == DTYPE_F32 || dtype == DTYPE_F16;
        others += dtype == DTYPE_F64 || dtype == DTYPE_BF16;
    }
    bool possible = widened > 0 && others == 0;
    problem->oracle = possible;
    if (!node)
        return 0;
    int result = yaml_expect_bool(native->yaml, node, "oracle", &problem->oracle);
    if (result == 0 && problem->oracle && !possible)
        return yaml_fail(native->yaml, node,
                         "oracle: true needs floating arguments, all of them f32 or f16: double "
                         "takes the place of these two types");
    return result;
}

static int parse_name(struct native *native, const struct yaml_node *node)
{
    int result = yaml_expect(native->yaml, node, YAML_SCALAR, "name");
    if (result < 0)
        return result;
    const char *name = node->text;
    static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-";
    size_t good = strspn(name, name_bytes);
    if (name[good] != '\0')
        return yaml_fail_inside(native->yaml, node, (uint32_t)good,
                                "a name is made of letters, digits, '_' and '-'");
    if (strlen(name) >= LIMIT_NAME_BYTES)
        return yaml_fail(native->yaml, node, "the name is longer than %d characters",
                         LIMIT_NAME_BYTES - 1);
    const char *path = native->yaml->name;
    const char *end = strrchr(path, '/');
    const char *start = end ? memrchr(path, '/', (size_t)(end - path)) : NULL;
    start = start ? start + 1 : path;
    size_t length = end ? (size_t)(end - start) : 0;
    bool known = length > 0 && strncmp(start, ".", length) != 0 &&
                 strncmp(start, "..", length) != 0;
    if (known && (strlen(name) != length || memcmp(start, name, length) != 0))
        return yaml_fail(native->yaml, node,
                         "name is '%.60s', but the directory is called '%.*s': they must agree",
                         name, (int)(length < 60 ? length : 60), start);
    native->problem->name = name;
    return 0;
}

static int parse_summary(struct native *native, const struct yaml_node *node)
{
    int result = yaml_expect(native->yaml, node, YAML_SCALAR, "summary");
    native->problem->summary = node->text;
    return result;
}

static int parse_category(struct native *native, const struct yaml_node *node)
{
    struct problem *problem = native->problem;
    problem->category = "";
    if (!node)
        return 0;
    int result = yaml_expect(native->yaml, node, YAML_SCALAR, "category");
    if (result < 0)
        return result;
    problem->category = category_find(node->text);
    return problem->category ? 0
                             : yaml_fail(native->yaml, node, "%s",
                                         category_complaint(&problem->arena, node->text));
}

static int parse_launch(struct native *native, const struct yaml_node *node)
{
    struct err inner;
    uint32_t line;
    int result = yaml_expect(native->yaml, node, YAML_SCALAR, "launch");
    if (result < 0)
        return result;
    if (strchr(node->text, '\n'))
        return yaml_fail(native->yaml, node, "launch is one line");
    native->problem->launch = node->text;
    if (native_try_launch(native->problem, "", &line, &inner) < 0)
        return yaml_fail(native->yaml, node, "launch: %s", inner.text);
    return 0;
}

/* All keys, in the order in which each can use what came before. */
static int parse_document(struct native *native, const struct yaml_node *root)
{
    static const char *const keys[] = {"name",   "summary",   "signature", "arguments", "check",
                                       "time",   "tolerance", "draw",      "require",   "work",
                                       "oracle", "launch",    "category"};
    enum { NEEDED = 6 };
    struct problem *problem = native->problem;
    int result = yaml_expect_keys(native->yaml, root, "a problem", keys, COUNT(keys));
    for (size_t i = 0; i < NEEDED && result == 0; i++)
        if (!yaml_get(root, keys[i]))
            return yaml_fail(native->yaml, root, "the key '%s' is missing", keys[i]);
    if (result == 0)
        result = parse_name(native, yaml_get(root, "name"));
    if (result == 0)
        result = parse_summary(native, yaml_get(root, "summary"));
    if (result == 0)
        result = parse_category(native, yaml_get(root, "category"));
    if (result == 0)
        result = native_arguments(native, yaml_get(root, "arguments"), yaml_get(root, "signature"));
    if (result == 0)
        result = parse_tolerances(native, yaml_get(root, "tolerance"));
    const struct yaml_node *require = yaml_get(root, "require");
    const struct yaml_node *draw = yaml_get(root, "draw");
    const struct yaml_node *work = yaml_get(root, "work");
    if (result == 0 && require)
        result = native_expression(native, require, "require", true, &problem->require);
    if (result == 0 && work)
        result = parse_work(native, work);
    if (result == 0)
        result = parse_rows(native, yaml_get(root, "check"), "check", problem->check,
                            &problem->check_count);
    if (result == 0)
        result = parse_rows(native, yaml_get(root, "time"), "time", problem->time,
                            &problem->time_count);
    if (result == 0 && draw)
        result = parse_draw(native, draw);
    if (result == 0 && yaml_get(root, "launch"))
        result = parse_launch(native, yaml_get(root, "launch"));
    if (result == 0)
        result = parse_oracle(native, yaml_get(root, "oracle"));
    return result;
}

static int parse_yaml(struct problem *problem, const char *path_name, const char *text,
                      size_t bytes, struct err *err)
{
    struct yaml yaml;
    struct native native = {.problem = problem, .yaml = &yaml};
    problem->format = PROBLEM_NATIVE;
    problem->yaml_path = arena_strdup(&problem->arena, path_name);
    int result = file_check_text(path_name, text, bytes, err);
    if (result == 0)
        result = yaml_parse(&yaml, &problem->arena, problem->yaml_path, text, bytes, err);
    if (result == 0)
        result = parse_document(&native, yaml.root);
    return result;
}

int problem_parse_yaml(struct problem *problem, const char *path_name, const char *text,
                       size_t bytes, struct err *err)
{
    memset(problem, 0, sizeof *problem);
    int result = parse_yaml(problem, path_name, text, bytes, err);
    if (result < 0)
        problem_deinit(problem);
    return result;
}

/* reference.cu, which a problem may have. */
static int load_cuda(struct problem *problem, struct err *err)
{
    char *text = NULL;
    problem->cuda_path = arena_printf(&problem->arena, "%s/reference.cu", problem->directory);
    if (!file_exists(problem->cuda_path))
        return 0;
    int result = file_read(problem->cuda_path, LIMIT_SOURCE_BYTES, &text, &problem->cuda_bytes,
                           err);
    if (result == 0)
        result = file_check_text(problem->cuda_path, text, problem->cuda_bytes, err);
    if (result == 0)
        problem->cuda_text = arena_strndup(&problem->arena, text, problem->cuda_bytes);
    mem_free(text);
    return result;
}

static void identify_native(struct problem *problem, const char *yaml)
{
    struct hash *hash = hash_new();
    hash_update_string(hash, "native");
    hash_update_string(hash, yaml);
    hash_update_string(hash, problem->reference_text);
    if (problem->cuda_text)
        hash_update_string(hash, problem->cuda_text);
    hash_finish(hash, problem->hash);
}

int native_from_text(struct problem *problem, const char *yaml, const char *reference,
                     const char *cuda, struct err *err)
{
    struct arena *arena = &problem->arena;
    problem->directory = "";
    problem->reference_path = "reference.c";
    problem->cuda_path = "reference.cu";
    problem->reference_bytes = strlen(reference);
    int result = parse_yaml(problem, "problem.yaml", yaml, strlen(yaml), err);
    if (result == 0)
        result = file_check_text("reference.c", reference, problem->reference_bytes, err);
    if (result == 0 && cuda)
        result = file_check_text("reference.cu", cuda, strlen(cuda), err);
    if (result < 0)
        return result;
    problem->reference_text = arena_strdup(arena, reference);
    problem->cuda_text = cuda ? arena_strdup(arena, cuda) : NULL;
    problem->cuda_bytes = cuda ? strlen(cuda) : 0;
    identify_native(problem, yaml);
    return 0;
}

int native_load(struct problem *problem, const char *directory, struct err *err)
{
    struct arena *arena = &problem->arena;
    char *yaml = NULL, *reference = NULL;
    size_t yaml_bytes = 0;
    problem->directory = arena_strdup(arena, directory);
    const char *yaml_path = arena_printf(arena, "%s/problem.yaml", directory);
    problem->reference_path = arena_printf(arena, "%s/reference.c", directory);
    int result = file_read(yaml_path, LIMIT_YAML_BYTES, &yaml, &yaml_bytes, err);
    if (result == 0)
        result = parse_yaml(problem, yaml_path, yaml, yaml_bytes, err);
    if (result == 0)
        result = file_read(problem->reference_path, LIMIT_SOURCE_BYTES, &reference,
                           &problem->reference_bytes, err);
    if (result == 0)
        result = file_check_text(problem->reference_path, reference, problem->reference_bytes, err);
    if (result == 0)
        result = load_cuda(problem, err);
    if (result == 0) {
        problem->reference_text = arena_strndup(arena, reference, problem->reference_bytes);
        identify_native(problem, yaml);
    }
    mem_free(yaml);
    mem_free(reference);
    return result;
}
