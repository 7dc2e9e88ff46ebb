/* settings_environment: settings from environment variables. Declared in settings.h. */
#include "base/settings_internal.h"
#include "base/suggest.h"

#include <ctype.h>
#include <string.h>

#define PREFIX "WARPGYM_"

void setting_variable_of(const char *path, char *name, size_t name_bytes)
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
    char variables[SETTING_PATHS_MOST][SETTING_VARIABLE_BYTES];
    const char *names[SETTING_PATHS_MOST];
    bool inside = false;
    size_t count = 0;
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(others[i], name) == 0)
            return 0;
    if (is_service_link(name))
        return 0;
    for (struct setting_place place = setting_first(); place.row && count < SETTING_PATHS_MOST;
         setting_next(&place)) {
        setting_variable_of(place.row->path, variables[count], sizeof variables[count]);
        inside = inside || strncmp(name, variables[count], strlen(place.section->name) + 1) == 0;
        names[count] = variables[count];
        count++;
    }
    const char *near = suggest_name(name, names, count);
    if (near)
        return err_set(err, ERR_INPUT,
                       "unknown setting '" PREFIX "%.60s'; did you mean '" PREFIX "%s'?", name,
                       near);
    return inside ? err_set(err, ERR_INPUT, "unknown setting '" PREFIX "%.60s'", name) : 0;
}

/* The setting that the variable `given` (behind the prefix) sets, or NULL. */
static const char *path_of(const char *given)
{
    const char *path = setting_registry.short_variable(given);
    if (path)
        return path;
    for (struct setting_place place = setting_first(); place.row; setting_next(&place)) {
        char name[SETTING_VARIABLE_BYTES];
        setting_variable_of(place.row->path, name, sizeof name);
        if (strcmp(name, given) == 0)
            return place.row->path;
    }
    return NULL;
}

/* Programs that start others often set a variable to nothing for a text that is not given. */
static bool is_nothing(const char *path, const char *value)
{
    const struct setting_row *row = setting_named(path).row;
    return !*value && row->absent && setting_is_text(row);
}

static int read_variable(struct settings *settings, const char *variable, struct err *err)
{
    const char *equals = strchr(variable, '=');
    if (strncmp(variable, PREFIX, strlen(PREFIX)) != 0 || !equals)
        return 0;
    char *name = mem_printf("%.*s", (int)(equals - variable), variable);
    const char *given = name + strlen(PREFIX), *path = path_of(given);
    int result = 0;
    if (!path)
        result = check_variable(given, err);
    else if (!is_nothing(path, equals + 1))
        result = settings_set_from(settings, path, equals + 1, ORIGIN_ENVIRONMENT, name, err);
    if (path && result < 0)
        err_prefix(err, "%s", name);
    mem_free(name);
    return result;
}

int settings_read_environment(struct settings *settings, char *const *environment, struct err *err)
{
    struct err one;
    int first = setting_registry.read_foreign(settings, environment, &one);
    if (first < 0) {
        err_set(err, first, "%s", one.text);
        setting_errors_add(&settings->errors, &one);
    }
    for (; environment && *environment; environment++) {
        int result = read_variable(settings, *environment, &one);
        if (result == 0)
            continue;
        setting_errors_add(&settings->errors, &one);
        first = first ? first : err_set(err, result, "%s", one.text);
    }
    return first;
}
