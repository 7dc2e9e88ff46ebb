#include "server/mcp/schema.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json.h"

#include <string.h>

#define NAMES_BYTES 512

static bool is_of_type(const json_t *value, const char *type)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object",   [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "integer", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",   [JSON_NULL] = "null",
    };
    return strcmp(names[json_typeof(value)], type) == 0;
}

static int check_enum(const json_t *allowed, const json_t *value, const char *name, struct err *err)
{
    struct buf names;
    bool found = false;
    buf_init(&names, NAMES_BYTES);
    for (size_t i = 0; i < json_array_size(allowed); i++) {
        const json_t *one = json_array_get(allowed, i);
        found = found || json_equal(one, value);
        buf_printf(&names, "%s%s", i ? ", " : "", json_string_value(one));
    }
    int result = found
                     ? 0
                     : err_set(err, ERR_INPUT, "arguments.%s: must be one of %s", name, names.data);
    buf_deinit(&names);
    return result;
}

static int check_bounds(const json_t *schema, const json_t *value, const char *name,
                        struct err *err)
{
    const json_t *low = json_object_get(schema, "minimum");
    const json_t *high = json_object_get(schema, "maximum");
    const json_t *shortest = json_object_get(schema, "minLength");
    const json_t *longest = json_object_get(schema, "maxLength");
    if (json_is_number(value) && low && json_number_value(value) < json_number_value(low))
        return err_set(err, ERR_INPUT, "arguments.%s: must be at least %g", name,
                       json_number_value(low));
    if (json_is_number(value) && high && json_number_value(value) > json_number_value(high))
        return err_set(err, ERR_INPUT, "arguments.%s: must be at most %g", name,
                       json_number_value(high));
    if (json_is_string(value) && shortest &&
        json_string_length(value) < (size_t)json_integer_value(shortest))
        return err_set(err, ERR_INPUT, "arguments.%s: must not be empty", name);
    if (json_is_string(value) && longest &&
        json_string_length(value) > (size_t)json_integer_value(longest))
        return err_set(err, ERR_INPUT, "arguments.%s: is longer than %lld bytes", name,
                       (long long)json_integer_value(longest));
    return 0;
}

static int check_property(const json_t *schema, const json_t *value, const char *name,
                          struct err *err)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    const json_t *allowed = json_object_get(schema, "enum");
    if (type && !is_of_type(value, type))
        return err_set(err, ERR_INPUT, "arguments.%s: must be %s", name, type);
    int result = allowed ? check_enum(allowed, value, name, err) : 0;
    return result < 0 ? result : check_bounds(schema, value, name, err);
}

int mcp_schema_check(const json_t *schema, const json_t *arguments, struct err *err)
{
    json_t *property, *properties = json_object_get(schema, "properties");
    const json_t *required = json_object_get(schema, "required");
    const char *names[64], *key;
    size_t count = 0;
    if (!json_is_object(arguments))
        return err_set(err, ERR_INPUT, "arguments: must be object");
    for (size_t i = 0; i < json_array_size(required); i++) {
        key = json_string_value(json_array_get(required, i));
        if (!json_object_get(arguments, key))
            return err_set(err, ERR_INPUT, "arguments.%s: is missing", key);
    }
    json_object_foreach(properties, key, property)
    {
        if (count < COUNT(names))
            names[count++] = key;
    }
    int result = json_check_keys(arguments, names, count, err);
    if (result < 0)
        return err_prefix(err, "arguments");
    json_object_foreach(properties, key, property)
    {
        const json_t *value = json_object_get(arguments, key);
        if (result == 0 && value)
            result = check_property(property, value, key, err);
    }
    return result;
}
