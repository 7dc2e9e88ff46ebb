/* verdict_json, verdict_read and what reads or writes a part: the table of verdict_fields.h in both
 * directions. Declared in verdict.h. */
#include "judge/verdict_fields.h"

#include "base/json.h"
#include "judge/verdict_schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    if (field->special)
        return field->special->write(at);
    switch (field->kind) {
    case FIELD_SCHEMA:
        return json_integer(VERDICT_SCHEMA);
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
    case FIELD_INTEGERS:
    case FIELD_TEXTS:
        break; /* special */
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

static json_t *write_at(const struct verdict_shape *shape, const void *base, const char *path)
{
    size_t length = strcspn(path, ".");
    for (size_t i = 0; i < shape->count; i++) {
        const struct verdict_field *field = &shape->fields[i];
        if (strncmp(field->key, path, length) != 0 || field->key[length] != '\0')
            continue;
        if (field->present && !field->present(base))
            break;
        if (path[length] == '.' && field->kind == FIELD_OBJECT)
            return write_at(field->shape, (const char *)base + field->offset, path + length + 1);
        return write_value(field, base);
    }
    return json_null();
}

json_t *verdict_json_at(const struct verdict *verdict, const char *path)
{
    return write_at(&verdict_shape, verdict, path);
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

/* Both return how long the path was before, for pop(). */
static size_t push_key(struct reading *reading, const char *key)
{
    size_t before = reading->length, space = sizeof reading->path - before;
    int count = snprintf(reading->path + before, space, "%s%s", before ? "." : "", key);
    reading->length += (size_t)count < space ? (size_t)count : space - 1;
    return before;
}

static size_t push_index(struct reading *reading, size_t index)
{
    size_t before = reading->length, space = sizeof reading->path - before;
    int count = snprintf(reading->path + before, space, "[%zu]", index);
    reading->length += (size_t)count < space ? (size_t)count : space - 1;
    return before;
}

static void pop(struct reading *reading, size_t before)
{
    reading->length = before;
    reading->path[before] = '\0';
}

/* Whether `value`, or each entry of it, has the form of `kind`. */
static bool has_form(enum verdict_kind kind, bool nullable, const json_t *value)
{
    const struct verdict_form *form = &verdict_forms[kind];
    json_int_t number = json_integer_value(value);
    if (json_is_null(value))
        return form->nullable || nullable;
    if (form->type == JSON_REAL)
        return json_is_number(value);
    if (form->type == JSON_TRUE)
        return json_is_boolean(value);
    return json_typeof(value) == form->type &&
           (form->type != JSON_INTEGER || (number >= 0 && number <= form->most));
}

static bool have_form(enum verdict_kind kind, const json_t *values)
{
    int entries = verdict_forms[kind].entries;
    size_t count = json_array_size(values);
    bool fits = json_is_array(values) &&
                (entries > 0 ? count == (size_t)entries : count <= (size_t)-entries);
    for (size_t i = 0; i < count && fits; i++)
        fits = has_form(kind, false, json_array_get(values, i));
    return fits;
}

static int check_value(struct reading *reading, const struct verdict_field *field,
                       const json_t *value)
{
    const struct verdict_form *form = &verdict_forms[field->kind];
    bool nullable = field->flags & FIELD_NULLABLE, text = field->kind == FIELD_TEXT;
    if (form->entries ? !have_form(field->kind, value) : !has_form(field->kind, nullable, value))
        return wrong(reading, text && nullable ? "a string or null" : form->words);
    if (field->kind == FIELD_HASH && json_string_length(value) >= HASH_HEX_BYTES)
        return wrong(reading, form->words);
    if (field->kind == FIELD_SCHEMA && json_integer_value(value) != VERDICT_SCHEMA)
        return wrong(reading, form->words);
    if (field->kind == FIELD_STATUS &&
        verdict_status_named(json_string_value(value)) == STATUS_COUNT)
        return wrong(reading, form->words);
    if (text && json_string_length(value) > VERDICT_TEXT_BYTES)
        return err_set(reading->err, ERR_INPUT, "'%s' is longer than %zu bytes", reading->path,
                       VERDICT_TEXT_BYTES);
    return 0;
}

static const char *take_text(const struct reading *reading, const struct verdict_field *field,
                             const json_t *value)
{
    if (json_is_null(value))
        return field->flags & FIELD_EMPTY ? "" : NULL;
    return arena_strdup(&reading->verdict->arena, json_string_value(value));
}

/* `missing` stands for null. */
static double real_of(const json_t *value, double missing)
{
    return json_is_null(value) ? missing : json_number_value(value);
}

static int read_list(struct reading *reading, const struct verdict_field *field, void *base,
                     const json_t *value)
{
    size_t count = json_array_size(value);
    int result = 0;
    if (count > field->most)
        return err_set(reading->err, ERR_INPUT, "'%s' has %zu entries; %zu are the most",
                       reading->path, count, field->most);
    for (size_t i = 0; i < count && result == 0; i++) {
        size_t before = push_index(reading, i);
        result = read_object(reading, field->shape, (char *)base + field->offset + i * field->bytes,
                             json_array_get(value, i));
        pop(reading, before);
    }
    *(uint32_t *)((char *)base + field->count_offset) = (uint32_t)count;
    return result;
}

/* A value that check_value let pass, into its member. */
static void take_value(const struct reading *reading, const struct verdict_field *field, void *at,
                       const json_t *value)
{
    switch (field->kind) {
    case FIELD_STATUS:
        *(enum verdict_status *)at = verdict_status_named(json_string_value(value));
        break;
    case FIELD_TEXT:
        *(const char **)at = take_text(reading, field, value);
        break;
    case FIELD_HASH:
        memcpy(at, json_string_value(value), json_string_length(value) + 1);
        break;
    case FIELD_BOOL:
        *(bool *)at = json_is_true(value);
        break;
    case FIELD_COUNT:
        *(uint32_t *)at = (uint32_t)json_integer_value(value);
        break;
    case FIELD_LONG:
        *(uint64_t *)at = (uint64_t)json_integer_value(value);
        break;
    case FIELD_REAL:
        *(double *)at = real_of(value, NAN);
        break;
    case FIELD_KNOWN:
        *(double *)at = real_of(value, -1);
        break;
    case FIELD_INTEGER:
        *(int *)at = json_is_null(value) ? -1 : (int)json_integer_value(value);
        break;
    case FIELD_PAIR:
        for (size_t i = 0; i < 2; i++)
            ((double *)at)[i] = real_of(json_array_get(value, i), NAN);
        break;
    case FIELD_SHAPE:
        for (size_t i = 0; i < 3; i++)
            ((uint32_t *)at)[i] = (uint32_t)json_integer_value(json_array_get(value, i));
        break;
    default: /* a constant, special, or read by read_value */
        break;
    }
}

static int read_value(struct reading *reading, const struct verdict_field *field, void *base,
                      const json_t *value)
{
    void *at = (char *)base + field->offset;
    if (field->kind == FIELD_OBJECT && (field->flags & FIELD_NULLABLE) && json_is_null(value))
        return 0;
    int result = check_value(reading, field, value);
    if (result < 0)
        return result;
    if (field->kind == FIELD_OBJECT)
        return read_object(reading, field->shape, at, value);
    if (field->kind == FIELD_LIST)
        return read_list(reading, field, base, value);
    if (!field->special)
        take_value(reading, field, at, value);
    else if (field->special->read)
        field->special->read(reading->verdict, at, value);
    return 0;
}

static int check_keys(struct reading *reading, const struct verdict_shape *shape,
                      const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (i < shape->count && strcmp(shape->fields[i].key, key) != 0)
            i++;
        if (i == shape->count) {
            (void)push_key(reading, key);
            return err_set(reading->err, ERR_INPUT, "'%s' is not a field of a verdict",
                           reading->path);
        }
    }
    return 0;
}

static int read_object(struct reading *reading, const struct verdict_shape *shape, void *base,
                       const json_t *object)
{
    int result = json_is_object(object) ? check_keys(reading, shape, object)
                                        : wrong(reading, "an object");
    for (size_t i = 0; i < shape->count && result == 0; i++) {
        const struct verdict_field *field = &shape->fields[i];
        const json_t *value = json_object_get(object, field->key);
        size_t before = push_key(reading, field->key);
        if (value)
            result = read_value(reading, field, base, value);
        else if (!(field->flags & FIELD_OPTIONAL))
            result = err_set(reading->err, ERR_INPUT, "'%s' is missing", reading->path);
        pop(reading, before);
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

int verdict_read_at(const json_t *value, const char *key, struct verdict *verdict, struct err *err)
{
    struct reading reading = {.verdict = verdict, .err = err};
    size_t i = 0;
    while (i < verdict_shape.count && strcmp(verdict_shape.fields[i].key, key) != 0)
        i++;
    if (i == verdict_shape.count)
        return err_set(err, ERR_INPUT, "'%s' is not a field of a verdict", key);
    (void)push_key(&reading, key);
    return read_value(&reading, &verdict_shape.fields[i], verdict, value);
}

void verdict_recover(const struct verdict_source *source, struct verdict *verdict)
{
    enum verdict_status status = source->outcome == STATUS_COUNT ? STATUS_INFRASTRUCTURE_ERROR
                                                                 : source->outcome;
    struct err err;
    if (!source->json) {
        verdict_init_unjudged(verdict, status, "queue",
                              source->reason ? source->reason : "there is no verdict");
    } else if (verdict_read(source->json, verdict, &err) < 0) {
        verdict_deinit(verdict);
        verdict_init_unjudged(verdict, STATUS_INFRASTRUCTURE_ERROR, "protocol", err.text);
    } else {
        return;
    }
    verdict->id = arena_strdup(&verdict->arena, source->id);
}
