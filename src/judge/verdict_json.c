/* verdict_json, verdict_read: the table of verdict_fields.h in both directions. Declared in
 * verdict.h. */
#include "judge/verdict_fields.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA 1
#define PATH_BYTES 128 /* "profile.kernels[15].shared_bytes" */

static json_t *write_object(const struct verdict_shape *shape, const void *base);

static json_t *write_text(const struct verdict_field *field, const char *text)
{
    if ((field->flags & FIELD_EMPTY) && text && !*text)
        return json_null();
    return json_text(!text && !(field->flags & FIELD_NULLABLE) ? "" : text);
}

static json_t *write_list(const struct verdict_field *field, const void *base)
{
    uint32_t count = *(const uint32_t *)((const char *)base + field->count_offset);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, write_object(field->shape, (const char *)base + field->offset +
                                                                   i * field->bytes));
    return list;
}

static json_t *write_value(const struct verdict_field *field, const void *base)
{
    const void *at = (const char *)base + field->offset;
    const uint32_t *three = at;
    const double *two = at;
    switch (field->kind) {
    case FIELD_SCHEMA:
        return json_integer(SCHEMA);
    case FIELD_STATUS:
        return json_string(verdict_status_name(*(const enum verdict_status *)at));
    case FIELD_TEXT:
        return write_text(field, *(const char *const *)at);
    case FIELD_HASH:
        return json_text(at);
    case FIELD_BOOL:
        return json_boolean(*(const bool *)at);
    case FIELD_COUNT:
        return json_integer(*(const uint32_t *)at);
    case FIELD_LONG:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case FIELD_REAL:
        return json_number(*two);
    case FIELD_KNOWN:
        return json_known(*two);
    case FIELD_INTEGER:
        return json_known(*(const int *)at);
    case FIELD_PAIR:
        return json_pack("[o, o]", json_number(two[0]), json_number(two[1]));
    case FIELD_SHAPE:
        return json_pack("[I, I, I]", (json_int_t)three[0], (json_int_t)three[1],
                         (json_int_t)three[2]);
    case FIELD_OBJECT:
        return write_object(field->shape, at);
    case FIELD_LIST:
        return write_list(field, base);
    case FIELD_SPECIAL:
        return field->special->write(at);
    }
    return json_null();
}

static json_t *write_object(const struct verdict_shape *shape, const void *base)
{
    json_t *object = json_object();
    for (size_t i = 0; i < shape->count; i++) {
        const struct verdict_field *field = &shape->fields[i];
        bool present = !field->present || field->present(base);
        if (present)
            json_put(object, field->key, write_value(field, base));
        else if (!(field->flags & FIELD_OPTIONAL))
            json_put(object, field->key, json_null());
    }
    return object;
}

json_t *verdict_json(const struct verdict *verdict)
{
    return write_object(&verdict_shape, verdict);
}

struct reading {
    struct verdict *verdict;
    struct err *err;
    char path[PATH_BYTES];
    size_t length;
};

static int read_object(struct reading *reading, const struct verdict_shape *shape, void *base,
                       const json_t *object);

static int wrong(const struct reading *reading, const char *wanted)
{
    return err_set(reading->err, ERR_INPUT, "'%s' must be %s", reading->path, wanted);
}

/* Both return how long the path was before, for leave(). */
static size_t enter_key(struct reading *reading, const char *key)
{
    size_t before = reading->length, space = sizeof reading->path - before;
    int count = snprintf(reading->path + before, space, "%s%s", before ? "." : "", key);
    reading->length += (size_t)count < space ? (size_t)count : space - 1;
    return before;
}

static size_t enter_index(struct reading *reading, size_t index)
{
    size_t before = reading->length, space = sizeof reading->path - before;
    int count = snprintf(reading->path + before, space, "[%zu]", index);
    reading->length += (size_t)count < space ? (size_t)count : space - 1;
    return before;
}

static void leave(struct reading *reading, size_t before)
{
    reading->length = before;
    reading->path[before] = '\0';
}

static int read_text(struct reading *reading, const struct verdict_field *field,
                     const json_t *value, const char **out)
{
    bool nullable = field->flags & FIELD_NULLABLE;
    if (json_is_null(value) && nullable) {
        *out = field->flags & FIELD_EMPTY ? "" : NULL;
        return 0;
    }
    if (!json_is_string(value))
        return wrong(reading, nullable ? "a string or null" : "a string");
    if (json_string_length(value) > VERDICT_TEXT_BYTES)
        return err_set(reading->err, ERR_INPUT, "'%s' is longer than %zu bytes", reading->path,
                       VERDICT_TEXT_BYTES);
    *out = arena_strdup(&reading->verdict->arena, json_string_value(value));
    return 0;
}

static int read_hash(struct reading *reading, const json_t *value, char *out)
{
    if (!json_is_string(value) || json_string_length(value) >= HASH_HEX_BYTES)
        return wrong(reading, "a hash");
    memcpy(out, json_string_value(value), json_string_length(value) + 1);
    return 0;
}

static int read_status(struct reading *reading, const json_t *value, enum verdict_status *out)
{
    *out = verdict_status_named(json_string_value(value));
    return *out < STATUS_COUNT ? 0 : wrong(reading, "a status of docs/reference/verdict.md");
}

static int read_integer(struct reading *reading, const json_t *value, uint64_t most, uint64_t *out)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number > most)
        return wrong(reading, most == UINT32_MAX ? "an integer from 0 to 4294967295"
                                                 : "an integer that is not negative");
    *out = (uint64_t)number;
    return 0;
}

static int read_count(struct reading *reading, const json_t *value, uint32_t *out)
{
    uint64_t number = 0;
    int result = read_integer(reading, value, UINT32_MAX, &number);
    *out = (uint32_t)number;
    return result;
}

/* `missing` stands for null. */
static int read_real(struct reading *reading, const json_t *value, double missing, double *out)
{
    if (!json_is_number(value) && !json_is_null(value))
        return wrong(reading, "a number or null");
    *out = json_is_null(value) ? missing : json_number_value(value);
    return 0;
}

static int read_known_integer(struct reading *reading, const json_t *value, int *out)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_null(value) && (!json_is_integer(value) || number < 0 || number > INT32_MAX))
        return wrong(reading, "an integer from 0 to 2147483647, or null");
    *out = json_is_null(value) ? -1 : (int)number;
    return 0;
}

static int read_pair(struct reading *reading, const json_t *value, double *out)
{
    if (json_array_size(value) != 2)
        return wrong(reading, "two numbers or nulls");
    int result = read_real(reading, json_array_get(value, 0), NAN, &out[0]);
    return result == 0 ? read_real(reading, json_array_get(value, 1), NAN, &out[1]) : result;
}

static int read_shape(struct reading *reading, const json_t *value, uint32_t *out)
{
    int result = json_array_size(value) == 3 ? 0 : wrong(reading, "three integers");
    for (size_t i = 0; i < 3 && result == 0; i++)
        result = read_count(reading, json_array_get(value, i), &out[i]);
    return result;
}

static int read_list(struct reading *reading, const struct verdict_field *field, void *base,
                     const json_t *value)
{
    size_t count = json_array_size(value);
    int result = 0;
    if (!json_is_array(value))
        return wrong(reading, "an array");
    if (count > field->most)
        return err_set(reading->err, ERR_INPUT, "'%s' has %zu entries; %zu are the most",
                       reading->path, count, field->most);
    for (size_t i = 0; i < count && result == 0; i++) {
        size_t before = enter_index(reading, i);
        result = read_object(reading, field->shape, (char *)base + field->offset + i * field->bytes,
                             json_array_get(value, i));
        leave(reading, before);
    }
    *(uint32_t *)((char *)base + field->count_offset) = (uint32_t)count;
    return result;
}

static int read_value(struct reading *reading, const struct verdict_field *field, void *base,
                      const json_t *value)
{
    void *at = (char *)base + field->offset;
    switch (field->kind) {
    case FIELD_SCHEMA:
        return json_is_integer(value) && json_integer_value(value) == SCHEMA ? 0
                                                                             : wrong(reading, "1");
    case FIELD_STATUS:
        return read_status(reading, value, at);
    case FIELD_TEXT:
        return read_text(reading, field, value, at);
    case FIELD_HASH:
        return read_hash(reading, value, at);
    case FIELD_BOOL:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value) ? 0 : wrong(reading, "true or false");
    case FIELD_COUNT:
        return read_count(reading, value, at);
    case FIELD_LONG:
        return read_integer(reading, value, UINT64_MAX, at);
    case FIELD_REAL:
        return read_real(reading, value, NAN, at);
    case FIELD_KNOWN:
        return read_real(reading, value, -1, at);
    case FIELD_INTEGER:
        return read_known_integer(reading, value, at);
    case FIELD_PAIR:
        return read_pair(reading, value, at);
    case FIELD_SHAPE:
        return read_shape(reading, value, at);
    case FIELD_OBJECT:
        return read_object(reading, field->shape, at, value);
    case FIELD_LIST:
        return read_list(reading, field, base, value);
    case FIELD_SPECIAL:
        return field->special->read
                   ? field->special->read(reading->verdict, at, value, reading->path, reading->err)
                   : 0;
    }
    return 0;
}

static int read_object(struct reading *reading, const struct verdict_shape *shape, void *base,
                       const json_t *object)
{
    int result = json_is_object(object) ? 0 : wrong(reading, "an object");
    for (size_t i = 0; i < shape->count && result == 0; i++) {
        const struct verdict_field *field = &shape->fields[i];
        const json_t *value = json_object_get(object, field->key);
        size_t before = enter_key(reading, field->key);
        bool none = field->kind == FIELD_OBJECT && (field->flags & FIELD_NULLABLE) &&
                    json_is_null(value);
        if (value && !none)
            result = read_value(reading, field, base, value);
        else if (!value && (field->flags & FIELD_NEEDED))
            result = err_set(reading->err, ERR_INPUT, "'%s' is missing", reading->path);
        leave(reading, before);
    }
    if (result == 0 && shape->after)
        shape->after(base, object);
    return result;
}

int verdict_read(const json_t *json, struct verdict *verdict, struct err *err)
{
    struct reading reading = {.verdict = verdict, .err = err};
    verdict_init(verdict);
    if (!json_is_object(json))
        return err_set(err, ERR_INPUT, "a verdict must be an object");
    int result = read_object(&reading, &verdict_shape, verdict, json);
    if (result < 0)
        err_prefix(err, "verdict");
    return result;
}

enum verdict_status verdict_json_status(const json_t *json)
{
    return verdict_status_named(json_string_value(json_object_get(json, "status")));
}

const char *verdict_json_error(const json_t *json, const char *key)
{
    return json_text_at(json_object_get(json, "error"), key);
}
