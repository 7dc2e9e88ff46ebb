#include "config/kernelgym.h"

#include "base/setting.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_BYTES ((size_t)16 << 10) /* more than a setting may have */
#define PORT_MAX 65535
#define DATABASE_MAX 65535

enum variable {
    API_HOST,
    API_PORT,
    REDIS_HOST,
    REDIS_PORT,
    REDIS_DB,
    REDIS_PASSWORD,
    GPU_DEVICES,
    LOG_LEVEL,
    VARIABLE_COUNT
};

static const struct {
    const char *name, *path;
} variables[VARIABLE_COUNT] = {
    [API_HOST] = {"API_HOST", "server.listen"},
    [API_PORT] = {"API_PORT", "server.listen"},
    [REDIS_HOST] = {"REDIS_HOST", "queue.url"},
    [REDIS_PORT] = {"REDIS_PORT", "queue.url"},
    [REDIS_DB] = {"REDIS_DB", "queue.url"},
    [REDIS_PASSWORD] = {"REDIS_PASSWORD", "queue.url"},
    [GPU_DEVICES] = {"GPU_DEVICES", "gpu.devices"},
    [LOG_LEVEL] = {"LOG_LEVEL", "log.level"},
};

const char *kernelgym_variable(const char *path, size_t index)
{
    for (size_t i = 0; i < VARIABLE_COUNT; i++)
        if (strcmp(variables[i].path, path) == 0 && index-- == 0)
            return variables[i].name;
    return NULL;
}

/* Those that are set, and not to nothing. */
static void find_values(char *const *environment, const char *values[VARIABLE_COUNT])
{
    for (; environment && *environment; environment++)
        for (size_t i = 0; i < VARIABLE_COUNT; i++) {
            size_t length = strlen(variables[i].name);
            if (strncmp(*environment, variables[i].name, length) == 0 &&
                (*environment)[length] == '=' && (*environment)[length + 1])
                values[i] = *environment + length + 1;
        }
}

static bool is_number(const char *text, long most)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 5 &&
           strtol(text, NULL, 10) <= most;
}

/* A name or an address, and no URL. */
static bool is_host(const char *text)
{
    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-._:[]%", *at))
            return false;
    return true;
}

/* What may stand in a URL before '@' without being taken for something else. */
static void put_escaped(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (isalnum((unsigned char)*text) || strchr("-._~", *text))
            buf_append(out, text, 1);
        else
            buf_printf(out, "%%%02X", (unsigned char)*text);
}

static void put_host(struct buf *out, const char *host)
{
    bool bare = strchr(host, ':') && host[0] != '[';
    buf_printf(out, "%s%s%s", bare ? "[" : "", host, bare ? "]" : "");
}

static int set_listen(struct settings *settings, const char *const *values, struct err *err)
{
    const char *host = values[API_HOST], *port = values[API_PORT];
    struct buf text;
    if (port && !is_number(port, PORT_MAX))
        port = NULL;
    if (host && !is_host(host))
        host = NULL;
    if (!host && !port)
        return 0;
    buf_init(&text, TEXT_BYTES);
    put_host(&text, host ? host : "127.0.0.1");
    buf_printf(&text, ":%s", port ? port : "10907");
    int result = settings_set_from(settings, "server.listen", text.data, ORIGIN_ENVIRONMENT,
                                   host ? "API_HOST" : "API_PORT", err);
    buf_deinit(&text);
    return result < 0 ? err_prefix(err, "API_HOST") : 0;
}

/* REDIS_HOST decides: the others alone name no place. */
static int set_queue(struct settings *settings, const char *const *values, struct err *err)
{
    const char *port = values[REDIS_PORT], *database = values[REDIS_DB];
    struct buf text;
    if (!values[REDIS_HOST] || !is_host(values[REDIS_HOST]))
        return 0;
    buf_init(&text, TEXT_BYTES);
    buf_puts(&text, "redis://");
    if (values[REDIS_PASSWORD]) {
        buf_puts(&text, ":");
        put_escaped(&text, values[REDIS_PASSWORD]);
        buf_puts(&text, "@");
    }
    put_host(&text, values[REDIS_HOST]);
    buf_printf(&text, ":%s", port && is_number(port, PORT_MAX) ? port : "6379");
    if (database && is_number(database, DATABASE_MAX))
        buf_printf(&text, "/%s", database);
    int result = settings_set_from(settings, "queue.url", text.data, ORIGIN_ENVIRONMENT,
                                   "REDIS_HOST", err);
    buf_deinit(&text);
    return result < 0 ? err_prefix(err, "REDIS_HOST") : 0;
}

/* "[0, 1]" and "0,1" are "0,1". */
static int set_devices(struct settings *settings, const char *value, struct err *err)
{
    struct buf text;
    if (!value || strspn(value, "[]0123456789, ") != strlen(value))
        return 0;
    buf_init(&text, TEXT_BYTES);
    for (; *value; value++)
        if (isdigit((unsigned char)*value) || *value == ',')
            buf_append(&text, value, 1);
    int result = text.len ? settings_set_from(settings, "gpu.devices", text.data,
                                              ORIGIN_ENVIRONMENT, "GPU_DEVICES", err)
                          : 0;
    buf_deinit(&text);
    return result < 0 ? err_prefix(err, "GPU_DEVICES") : 0;
}

static int set_level(struct settings *settings, const char *value, struct err *err)
{
    static const struct {
        const char *theirs, *ours;
    } levels[] = {{"DEBUG", "debug"},
                  {"INFO", "info"},
                  {"WARNING", "warn"},
                  {"ERROR", "error"},
                  {"CRITICAL", "error"}};
    for (size_t i = 0; value && i < COUNT(levels); i++)
        if (strcasecmp(value, levels[i].theirs) == 0)
            return settings_set_from(settings, "log.level", levels[i].ours, ORIGIN_ENVIRONMENT,
                                     "LOG_LEVEL", err);
    return 0;
}

int kernelgym_read_environment(struct settings *settings, char *const *environment, struct err *err)
{
    const char *values[VARIABLE_COUNT] = {NULL};
    find_values(environment, values);
    int result = set_listen(settings, values, err);
    if (result == 0)
        result = set_queue(settings, values, err);
    if (result == 0)
        result = set_devices(settings, values[GPU_DEVICES], err);
    return result == 0 ? set_level(settings, values[LOG_LEVEL], err) : result;
}
