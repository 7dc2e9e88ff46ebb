#include "base/settings.h"

#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/settings_row.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX_BYTES 4096 /* of a value: a path, or a list of paths */

const struct settings_row settings_rows[SETTINGS_COUNT] = {
#define X(field, path, kind, standard, low, high, help)                                            \
    {path,                                                                                         \
     SETTINGS_KIND_##kind,                                                                         \
     standard,                                                                                     \
     (double)(low),                                                                                \
     (double)(high),                                                                               \
     help,                                                                                         \
     offsetof(struct settings, field)},
    SETTINGS(X)
#undef X
};

/* A decimal number with one of the units behind it; whole after multiplying. */
static bool parse_units(const char *text, const struct settings_unit *units, double *value)
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
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *value = (double)(i % 2);
            return true;
        }
    return false;
}

static bool parse_value(enum settings_kind kind, const char *text, double *value)
{
    switch (kind) {
    case SETTINGS_KIND_INT:
        return parse_number(text, true, value);
    case SETTINGS_KIND_FLOAT:
        return parse_number(text, false, value);
    case SETTINGS_KIND_BOOL:
        return parse_bool(text, value);
    case SETTINGS_KIND_DURATION:
        return parse_units(text, settings_durations, value);
    default:
        return parse_units(text, settings_sizes, value);
    }
}

static int refuse_value(const struct settings_row *row, const char *value, struct err *err)
{
    static const char *const wanted[] = {
        [SETTINGS_KIND_INT] = "is not a whole number",
        [SETTINGS_KIND_FLOAT] = "is not a number",
        [SETTINGS_KIND_BOOL] = "is neither true nor false",
        [SETTINGS_KIND_DURATION] = "is not a duration (write 250ms, 10s, 2m or 1h)",
        [SETTINGS_KIND_BYTES] = "is not a size (write 4096, 512MiB, 2GiB or 1GB)",
    };
    return err_set(err, ERR_INPUT, "%s: '%.60s' %s", row->path, value, wanted[row->kind]);
}

static int refuse_bounds(const struct settings_row *row, const char *value, struct err *err)
{
    struct buf bounds;
    buf_init(&bounds, 128);
    settings_print_value(&bounds, row->kind, row->low);
    buf_puts(&bounds, " to ");
    settings_print_value(&bounds, row->kind, row->high);
    int result = err_set(err, ERR_INPUT, "%s: '%.60s' is outside %s", row->path, value,
                         bounds.data);
    buf_deinit(&bounds);
    return result;
}

static int assign_text(struct settings *settings, const struct settings_row *row, const char *value,
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

static int assign(struct settings *settings, const struct settings_row *row, const char *text,
                  struct err *err)
{
    char *field = (char *)settings + row->offset;
    double value;
    if (settings_is_text(row))
        return assign_text(settings, row, text, err);
    if (!parse_value(row->kind, text, &value))
        return refuse_value(row, text, err);
    if (settings_is_bounded(row) && !(value >= row->low && value <= row->high))
        return refuse_bounds(row, text, err);
    if (row->kind == SETTINGS_KIND_FLOAT)
        *(double *)field = value;
    else if (row->kind == SETTINGS_KIND_BOOL)
        *(bool *)field = value != 0;
    else if (row->kind == SETTINGS_KIND_BYTES)
        *(uint64_t *)field = (uint64_t)value;
    else
        *(int64_t *)field = (int64_t)value;
    return 0;
}

void settings_init(struct settings *settings)
{
    *settings = (struct settings){0};
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        if (assign(settings, &settings_rows[i], settings_rows[i].standard, NULL) < 0)
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
        names[i] = settings_rows[i].path;
    return err_unknown(err, "setting", path, names, SETTINGS_COUNT);
}

int settings_set_from(struct settings *settings, const char *path, const char *value,
                      enum settings_origin origin, const char *source, struct err *err)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        if (strcmp(settings_rows[i].path, path) != 0)
            continue;
        int result = assign(settings, &settings_rows[i], value, err);
        if (result == 0) {
            settings->origin[i] = (unsigned char)origin;
            settings->source[i] = source ? arena_strdup(&settings->arena, source) : NULL;
        }
        return result;
    }
    return unknown(path, err);
}

int settings_set(struct settings *settings, const char *path, const char *value,
                 enum settings_origin origin, struct err *err)
{
    return settings_set_from(settings, path, value, origin, NULL, err);
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

void settings_variable_of(const char *path, char *name, size_t name_bytes)
{
    size_t i = 0;
    for (; path[i] && i + 1 < name_bytes; i++)
        name[i] = path[i] == '.' ? '_' : (char)toupper((unsigned char)path[i]);
    name[i] = '\0';
}

/* What Kubernetes defines for a service called "warpgym" or "warpgym-server": …SERVICE_HOST,
 * …SERVICE_PORT…, …PORT, …PORT_80_TCP… */
static bool is_service_link(const char *name)
{
    const char *port = strstr(name, "PORT");
    return strstr(name, "SERVICE_HOST") || strstr(name, "SERVICE_PORT") ||
           (port && (port[4] == '\0' || (port[4] == '_' && isdigit((unsigned char)port[5]))));
}

/* A variable that no row has. Read elsewhere, or none of ours: fine. Within a section of the table,
 * or nearly a name in it: a slip, and silence would be worse than an error. */
static int check_variable(const char *name, struct err *err)
{
    static const char *const others[] = {"CONFIG", "PYTHON", "CC", "NVCC"};
    char variables[SETTINGS_COUNT][SETTINGS_VARIABLE_BYTES];
    const char *names[SETTINGS_COUNT];
    bool inside = false;
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(others[i], name) == 0)
            return 0;
    if (is_service_link(name))
        return 0;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        settings_variable_of(settings_rows[i].path, variables[i], sizeof variables[i]);
        names[i] = variables[i];
        size_t section = strcspn(settings_rows[i].path, ".") + 1;
        inside = inside || strncmp(name, variables[i], section) == 0;
    }
    const char *near = nearest_name(name, names, SETTINGS_COUNT);
    if (near)
        return err_set(err, ERR_INPUT,
                       "unknown setting 'WARPGYM_%.60s'; did you mean 'WARPGYM_%s'?", name, near);
    return inside ? err_set(err, ERR_INPUT, "unknown setting 'WARPGYM_%.60s'", name) : 0;
}

/* The setting that the variable `given` (behind WARPGYM_) sets, or NULL. */
static const char *path_of(const char *given)
{
    static const struct {
        const char *variable, *path;
    } shorter[] = {{"TOKEN", "server.token"}, {"LOG", "log.level"}};
    for (size_t i = 0; i < COUNT(shorter); i++)
        if (strcmp(shorter[i].variable, given) == 0)
            return shorter[i].path;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        char name[SETTINGS_VARIABLE_BYTES];
        settings_variable_of(settings_rows[i].path, name, sizeof name);
        if (strcmp(name, given) == 0)
            return settings_rows[i].path;
    }
    return NULL;
}

static int read_variable(struct settings *settings, const char *variable, struct err *err)
{
    static const char prefix[] = "WARPGYM_";
    const char *equals = strchr(variable, '=');
    if (strncmp(variable, prefix, sizeof prefix - 1) != 0 || !equals)
        return 0;
    char *name = mem_printf("%.*s", (int)(equals - variable), variable);
    const char *given = name + sizeof prefix - 1;
    const char *path = path_of(given);
    int result = path ? settings_set_from(settings, path, equals + 1, ORIGIN_ENVIRONMENT, name, err)
                      : check_variable(given, err);
    if (path && result < 0)
        err_prefix(err, "%s", name);
    mem_free(name);
    return result;
}

int settings_read_environment(struct settings *settings, char *const *environment, struct err *err)
{
    int result = settings_read_kernelgym(settings, environment, err);
    for (; result == 0 && environment && *environment; environment++)
        result = read_variable(settings, *environment, err);
    return result;
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
    static const char *const token_keys[] = {"max_tokens", "max_completion_tokens", NULL};
    const struct {
        const char *path, *value, *const *words;
    } choices[] = {{"log.level", settings->log_level, log_level_names},
                   {"log.format", settings->log_format, log_format_names},
                   {"policy.max_tokens_key", settings->policy_max_tokens_key, token_keys},
                   {"torch.device", settings->torch_device, devices},
                   {"torch.precision", settings->torch_precision, precisions},
                   {"torch.compile", settings->torch_compile, modes}};
    for (size_t i = 0; i < COUNT(choices); i++) {
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
