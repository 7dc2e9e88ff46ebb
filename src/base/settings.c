#include "base/settings.h"

#include "base/file.h"
#include "base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX_BYTES 4096 /* of a value: a path, or a list of paths */

enum kind { KIND_STRING, KIND_SECRET, KIND_INT, KIND_FLOAT, KIND_BOOL, KIND_DURATION, KIND_BYTES };

struct row {
    const char *path;
    enum kind kind;
    const char *standard;
    double low, high; /* inclusive; not for strings and booleans */
    const char *help;
    size_t offset; /* of the field in struct settings */
};

static const struct row rows[SETTINGS_COUNT] = {
#define X(field, path, kind, standard, low, high, help)                                            \
    {path,                                                                                         \
     KIND_##kind,                                                                                  \
     standard,                                                                                     \
     (double)(low),                                                                                \
     (double)(high),                                                                               \
     help,                                                                                         \
     offsetof(struct settings, field)},
    SETTINGS(X)
#undef X
};

static const char *const kind_names[] = {"text",    "secret",   "integer", "number",
                                         "boolean", "duration", "size"};

static bool is_text(const struct row *row)
{
    return row->kind == KIND_STRING || row->kind == KIND_SECRET;
}

static bool is_bounded(const struct row *row)
{
    return !is_text(row) && row->kind != KIND_BOOL;
}

struct unit {
    const char *name;
    double factor;
};

static const struct unit durations[] = {
    {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {"", 1}, {NULL, 0},
};
static const struct unit sizes[] = {
    {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"TB", 1e12}, {"GB", 1e9},
    {"MB", 1e6},     {"kB", 1e3},     {"KB", 1e3},     {"B", 1},        {"", 1},      {NULL, 0},
};

/* --------------------------------------------------------------------------------------- values */

/* A decimal number with one of the units behind it; whole after multiplying. */
static bool parse_units(const char *text, const struct unit *units, double *value)
{
    char *end;
    if (!isdigit((unsigned char)*text) || text[1] == 'x' || text[1] == 'X')
        return false;
    double number = strtod(text, &end);
    while (*end == ' ')
        end++;
    for (; units->name; units++) {
        if (strcmp(end, units->name) != 0)
            continue;
        *value = number * units->factor;
        return isfinite(*value) && *value == floor(*value);
    }
    return false;
}

static bool parse_number(const char *text, bool whole, double *value)
{
    char *end;
    if (*text == '\0' || isspace((unsigned char)*text))
        return false;
    errno = 0;
    *value = whole ? (double)strtoll(text, &end, 10) : strtod(text, &end);
    return *end == '\0' && errno == 0 && isfinite(*value);
}

static bool parse_bool(const char *text, double *value)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = (double)(i % 2);
            return true;
        }
    return false;
}

static bool parse_value(enum kind kind, const char *text, double *value)
{
    switch (kind) {
    case KIND_INT:
        return parse_number(text, true, value);
    case KIND_FLOAT:
        return parse_number(text, false, value);
    case KIND_BOOL:
        return parse_bool(text, value);
    case KIND_DURATION:
        return parse_units(text, durations, value);
    default:
        return parse_units(text, sizes, value);
    }
}

/* With the largest unit that divides it. */
static void print_units(struct buf *out, const struct unit *units, double value)
{
    while (units->factor > 1 && (value == 0 || fmod(value, units->factor) != 0))
        units++;
    buf_printf(out, "%.0f%s", value / units->factor, units->factor > 1 ? units->name : "");
}

static void print_float(struct buf *out, double value)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_puts(out, text);
}

static void print_value(struct buf *out, enum kind kind, double value)
{
    if (kind == KIND_BOOL)
        buf_puts(out, value != 0 ? "true" : "false");
    else if (kind == KIND_FLOAT)
        print_float(out, value);
    else if (kind == KIND_DURATION && value != 0 && fmod(value, 1000) != 0)
        buf_printf(out, "%.0fms", value);
    else if (kind == KIND_INT)
        buf_printf(out, "%.0f", value);
    else
        print_units(out, kind == KIND_DURATION ? durations : sizes, value);
}

static int refuse_value(const struct row *row, const char *value, struct err *err)
{
    static const char *const wanted[] = {
        [KIND_INT] = "is not a whole number",
        [KIND_FLOAT] = "is not a number",
        [KIND_BOOL] = "is neither true nor false",
        [KIND_DURATION] = "is not a duration (write 250ms, 10s, 2m or 1h)",
        [KIND_BYTES] = "is not a size (write 4096, 512MiB, 2GiB or 1GB)",
    };
    return err_set(err, ERR_INPUT, "%s: '%.60s' %s", row->path, value, wanted[row->kind]);
}

static int refuse_bounds(const struct row *row, const char *value, struct err *err)
{
    struct buf bounds;
    buf_init(&bounds, 128);
    print_value(&bounds, row->kind, row->low);
    buf_puts(&bounds, " to ");
    print_value(&bounds, row->kind, row->high);
    int result = err_set(err, ERR_INPUT, "%s: '%.60s' is outside %s", row->path, value,
                         bounds.data);
    buf_deinit(&bounds);
    return result;
}

static int assign_text(struct settings *settings, const struct row *row, const char *value,
                       struct err *err)
{
    if (strlen(value) > TEXT_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "%s: longer than %d bytes", row->path, TEXT_MAX_BYTES);
    for (const char *at = value; *at; at++)
        if (iscntrl((unsigned char)*at))
            return err_set(err, ERR_INPUT, "%s: holds a control character", row->path);
    int result = *value ? file_check_text(row->path, value, strlen(value), err) : 0;
    if (result < 0)
        return result;
    *(const char **)((char *)settings + row->offset) = arena_strdup(&settings->arena, value);
    return 0;
}

static int assign(struct settings *settings, const struct row *row, const char *text,
                  struct err *err)
{
    char *field = (char *)settings + row->offset;
    double value;
    if (is_text(row))
        return assign_text(settings, row, text, err);
    if (!parse_value(row->kind, text, &value))
        return refuse_value(row, text, err);
    if (is_bounded(row) && !(value >= row->low && value <= row->high))
        return refuse_bounds(row, text, err);
    if (row->kind == KIND_FLOAT)
        *(double *)field = value;
    else if (row->kind == KIND_BOOL)
        *(bool *)field = value != 0;
    else if (row->kind == KIND_BYTES)
        *(uint64_t *)field = (uint64_t)value;
    else
        *(int64_t *)field = (int64_t)value;
    return 0;
}

/* --------------------------------------------------------------------------------- the sources */

void settings_init(struct settings *settings)
{
    *settings = (struct settings){0};
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        if (assign(settings, &rows[i], rows[i].standard, NULL) < 0)
            abort(); /* a default outside its own bounds: a defect of the table */
}

void settings_deinit(struct settings *settings)
{
    arena_deinit(&settings->arena);
}

static int unknown(const char *path, struct err *err)
{
    const char *names[SETTINGS_COUNT];
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        names[i] = rows[i].path;
    const char *near = nearest_name(path, names, SETTINGS_COUNT);
    if (near)
        return err_set(err, ERR_INPUT, "there is no setting '%.60s'; did you mean '%s'?", path,
                       near);
    return err_set(err, ERR_INPUT, "there is no setting '%.60s'", path);
}

int settings_set(struct settings *settings, const char *path, const char *value,
                 enum settings_origin origin, struct err *err)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        if (strcmp(rows[i].path, path) != 0)
            continue;
        int result = assign(settings, &rows[i], value, err);
        if (result == 0)
            settings->origin[i] = (unsigned char)origin;
        return result;
    }
    return unknown(path, err);
}

int settings_assign(struct settings *settings, const char *assignment, struct err *err)
{
    const char *equals = strchr(assignment, '=');
    if (!equals)
        return err_set(err, ERR_INPUT, "'%.60s' is not KEY=VALUE", assignment);
    char *path = mem_printf("%.*s", (int)(equals - assignment), assignment);
    int result = settings_set(settings, path, equals + 1, ORIGIN_COMMAND_LINE, err);
    mem_free(path);
    return result;
}

/* "run.timeout_ms" as it stands in the environment behind WARPGYM_: "RUN_TIMEOUT_MS". */
static void variable_of(const char *path, char *name, size_t name_bytes)
{
    size_t i = 0;
    for (; path[i] && i + 1 < name_bytes; i++)
        name[i] = path[i] == '.' ? '_' : (char)toupper((unsigned char)path[i]);
    name[i] = '\0';
}

/* A variable that no row has. Read elsewhere, or none of ours: fine. Within a section of the table,
 * or nearly a name in it: a slip, and silence would be worse than an error. */
static int check_variable(const char *name, struct err *err)
{
    /* Kubernetes defines NAME_PORT… and NAME_SERVICE_… for a service called "warpgym". */
    static const char *const others[] = {"CONFIG", "PYTHON", "CC", "NVCC"};
    char variables[SETTINGS_COUNT][64];
    const char *names[SETTINGS_COUNT];
    bool inside = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], name) == 0)
            return 0;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        variable_of(rows[i].path, variables[i], sizeof variables[i]);
        names[i] = variables[i];
        size_t section = strcspn(rows[i].path, ".") + 1;
        inside = inside || strncmp(name, variables[i], section) == 0;
    }
    const char *near = nearest_name(name, names, SETTINGS_COUNT);
    if (near)
        return err_set(err, ERR_INPUT,
                       "there is no setting WARPGYM_%.60s; did you mean WARPGYM_%s?", name, near);
    return inside ? err_set(err, ERR_INPUT, "there is no setting WARPGYM_%.60s", name) : 0;
}

static int read_variable(struct settings *settings, const char *variable, struct err *err)
{
    static const char prefix[] = "WARPGYM_";
    const char *equals = strchr(variable, '=');
    if (strncmp(variable, prefix, sizeof prefix - 1) != 0 || !equals)
        return 0;
    char name[64];
    const char *given = variable + sizeof prefix - 1;
    if (strncmp(given, "TOKEN=", strlen("TOKEN=")) == 0)
        return settings_set(settings, "server.token", equals + 1, ORIGIN_ENVIRONMENT, err);
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        variable_of(rows[i].path, name, sizeof name);
        if (strlen(name) != (size_t)(equals - given) ||
            strncmp(name, given, (size_t)(equals - given)) != 0)
            continue;
        int result = settings_set(settings, rows[i].path, equals + 1, ORIGIN_ENVIRONMENT, err);
        if (result < 0)
            err_prefix(err, "WARPGYM_%s", name);
        return result;
    }
    char *unmatched = mem_printf("%.*s", (int)(equals - given), given);
    int result = check_variable(unmatched, err);
    mem_free(unmatched);
    return result;
}

int settings_read_environment(struct settings *settings, char *const *environment, struct err *err)
{
    for (; environment && *environment; environment++) {
        int result = read_variable(settings, *environment, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int check_word(const char *path, const char *value, const char *const *words,
                      struct err *err)
{
    char all[256] = "";
    size_t used = 0;
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(value, words[i]) == 0)
            return 0;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "",
                                 words[i][0] ? words[i] : "\"\"");
    }
    return err_set(err, ERR_INPUT, "%s is \"%.60s\"; it may be %s", path, value, all);
}

int settings_check(const struct settings *settings, struct err *err)
{
    static const char *const devices[] = {"auto", "cpu", "cuda", NULL};
    static const char *const precisions[] = {"", "fp32", "fp16", "bf16", NULL};
    static const char *const modes[] = {
        "", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", NULL};
    const struct {
        const char *path, *value, *const *words;
    } choices[] = {{"torch.device", settings->torch_device, devices},
                   {"torch.precision", settings->torch_precision, precisions},
                   {"torch.compile", settings->torch_compile, modes}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        int result = check_word(choices[i].path, choices[i].value, choices[i].words, err);
        if (result < 0)
            return result;
    }
    if (settings->timing_min_samples > settings->timing_max_samples)
        return err_set(err, ERR_INPUT,
                       "timing.min_samples (%" PRId64 ") is above timing.max_samples (%" PRId64 ")",
                       settings->timing_min_samples, settings->timing_max_samples);
    return 0;
}

/* ------------------------------------------------------------------------------- the table,
 * shown */

static void print_bounds(struct buf *out, const struct row *row)
{
    if (!is_bounded(row))
        return;
    print_value(out, row->kind, row->low);
    buf_puts(out, " to ");
    print_value(out, row->kind, row->high);
}

void settings_describe(struct buf *out)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const struct row *row = &rows[i];
        bool empty = row->standard[0] == '\0';
        buf_printf(out, "  %-22s %s%s%s", row->path, kind_names[row->kind],
                   empty ? "" : ", default ", row->standard);
        buf_puts(out, is_bounded(row) ? ", " : "");
        print_bounds(out, row);
        buf_printf(out, "\n      %s\n", row->help);
    }
}

void settings_describe_markdown(struct buf *out)
{
    buf_puts(out, "| Setting | Environment | Type | Default | Bounds | Meaning |\n"
                  "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const struct row *row = &rows[i];
        char variable[64];
        variable_of(row->path, variable, sizeof variable);
        buf_printf(out, "| `%s` | `WARPGYM_%s` | %s | %s%s%s | ", row->path, variable,
                   kind_names[row->kind], row->standard[0] ? "`" : "", row->standard,
                   row->standard[0] ? "`" : "empty");
        print_bounds(out, row);
        buf_printf(out, " | %s |\n", row->help);
    }
}

static void print_quoted(struct buf *out, const char *text)
{
    buf_puts(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_puts(out, "\\");
        buf_append(out, text, 1);
    }
    buf_puts(out, "\"");
}

static void show_row(const struct settings *settings, const struct row *row, struct buf *out)
{
    const char *field = (const char *)settings + row->offset;
    if (is_text(row))
        print_quoted(out, *(const char *const *)field);
    else if (row->kind == KIND_FLOAT)
        print_value(out, row->kind, *(const double *)field);
    else if (row->kind == KIND_BOOL)
        print_value(out, row->kind, *(const bool *)field);
    else if (row->kind == KIND_BYTES)
        print_value(out, row->kind, (double)*(const uint64_t *)field);
    else
        print_value(out, row->kind, (double)*(const int64_t *)field);
}

static const char *secret_of(const struct settings *settings, const struct row *row)
{
    return *(const char *const *)((const char *)settings + row->offset);
}

void settings_show(const struct settings *settings, struct buf *out)
{
    static const char *const origins[] = {"default", "file", "environment", "command line"};
    size_t section_length = 0;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const char *path = rows[i].path;
        size_t length = strcspn(path, ".");
        if (i == 0 || length != section_length || strncmp(path, rows[i - 1].path, length) != 0)
            buf_printf(out, "%.*s:\n", (int)length, path);
        section_length = length;
        /* A secret must not end in a terminal's history or a bug report. */
        bool hidden = rows[i].kind == KIND_SECRET && *secret_of(settings, &rows[i]);
        buf_printf(out, "  %s%s: ", hidden ? "# " : "", path + length + 1);
        if (hidden)
            buf_puts(out, "not shown");
        else
            show_row(settings, &rows[i], out);
        buf_printf(out, " # %s\n", origins[settings->origin[i]]);
    }
}
