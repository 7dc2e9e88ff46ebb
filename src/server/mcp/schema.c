#include "server/mcp/schema.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 256
#define NAMES_BYTES 512

static bool is_of_type(const json_t *value, const char *type)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return strcmp(type, "object") == 0;
    case JSON_ARRAY:
        return strcmp(type, "array") == 0;
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_INTEGER:
        return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    case JSON_REAL:
        return strcmp(type, "number") == 0;
    case JSON_TRUE:
    case JSON_FALSE:
        return strcmp(type, "boolean") == 0;
    default:
        return strcmp(type, "null") == 0;
    }
}

static int check_type(const json_t *schema, const json_t *value, const char *name, struct err *err)
{
    const json_t *type = json_object_get(schema, "type");
    struct buf names;
    bool fits = !type;
    buf_init(&names, NAMES_BYTES);
    if (json_is_string(type)) {
        fits = is_of_type(value, json_string_value(type));
        buf_puts(&names, json_string_value(type));
    }
    for (size_t i = 0; i < json_array_size(type); i++) {
        const char *one = json_string_value(json_array_get(type, i));
        fits = fits || is_of_type(value, one);
        buf_printf(&names, "%s%s", i ? " or " : "", one);
    }
    int result = fits ? 0 : err_set(err, ERR_INPUT, "%s: must be %s", name, names.data);
    buf_deinit(&names);
    return result;
}

static int check_enum(const json_t *schema, const json_t *value, const char *name, struct err *err)
{
    const json_t *allowed = json_object_get(schema, "enum");
    struct buf names;
    if (!allowed)
        return 0;
    buf_init(&names, NAMES_BYTES);
    bool found = false;
    for (size_t i = 0; i < json_array_size(allowed); i++) {
        const json_t *one = json_array_get(allowed, i);
        found = found || json_equal(one, value);
        buf_printf(&names, "%s%s", i ? ", " : "", json_string_value(one));
    }
    int result = found ? 0 : err_set(err, ERR_INPUT, "%s: must be one of %s", name, names.data);
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
        return err_set(err, ERR_INPUT, "%s: must be at least %g", name, json_number_value(low));
    if (json_is_number(value) && high && json_number_value(value) > json_number_value(high))
        return err_set(err, ERR_INPUT, "%s: must be at most %g", name, json_number_value(high));
    if (json_is_string(value) && shortest &&
        json_string_length(value) < (size_t)json_integer_value(shortest))
        return err_set(err, ERR_INPUT, "%s: must not be empty", name);
    if (json_is_string(value) && longest &&
        json_string_length(value) > (size_t)json_integer_value(longest))
        return err_set(err, ERR_INPUT, "%s: is longer than %lld bytes", name,
                       (long long)json_integer_value(longest));
    return 0;
}

static int check_names(const json_t *schema, const json_t *value, const char *name, struct err *err)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *key = json_string_value(json_array_get(required, i));
        if (!json_object_get(value, key))
            return err_set(err, ERR_INPUT, "%s.%s: is missing", name, key);
    }
    if (!json_is_false(json_object_get(schema, "additionalProperties")))
        return 0;
    const char *names[64], *key;
    json_t *ignored;
    size_t count = 0;
    json_object_foreach((json_t *)properties, key, ignored)
    {
        if (count < COUNT(names))
            names[count++] = key;
    }
    int result = json_check_keys(value, names, count, err);
    return result < 0 ? err_prefix(err, "%s", name) : 0;
}

static int check_object(const json_t *schema, const json_t *value, const char *name,
                        struct err *err)
{
    const char *key;
    json_t *property;
    int result = check_names(schema, value, name, err);
    json_object_foreach((json_t *)json_object_get(schema, "properties"), key, property)
    {
        char inner[NAME_BYTES];
        const json_t *item = json_object_get(value, key);
        snprintf(inner, sizeof inner, "%s.%s", name, key);
        if (result == 0 && item)
            result = mcp_schema_check(property, item, inner, err);
    }
    return result;
}

int mcp_schema_check(const json_t *schema, const json_t *value, const char *name, struct err *err)
{
    const json_t *items = json_object_get(schema, "items");
    int result = check_type(schema, value, name, err);
    if (result == 0)
        result = check_enum(schema, value, name, err);
    if (result == 0)
        result = check_bounds(schema, value, name, err);
    if (result == 0 && json_is_object(value))
        result = check_object(schema, value, name, err);
    for (size_t i = 0; result == 0 && items && i < json_array_size(value); i++) {
        char inner[NAME_BYTES];
        snprintf(inner, sizeof inner, "%s[%zu]", name, i);
        result = mcp_schema_check(items, json_array_get(value, i), inner, err);
    }
    return result;
}
