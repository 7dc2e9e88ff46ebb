#include "server/kernelgym/fields.h"

#include "base/array.h"
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INTEGER_TEXT_BYTES 24

struct reading {
    const json_t *at;
    enum kernelgym_strictness strictness;
    char *into;
    json_t *errors;
};

size_t kernelgym_characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

void kernelgym_fields_complain(json_t *errors, const json_t *at, const char *name, const char *type,
                               const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_t *place = json_deep_copy(at);
    if (name)
        json_array_append_new(place, json_text(name));
    json_t *error = json_object();
    json_put(error, "type", json_text(type));
    json_put(error, "loc", place);
    json_put(error, "msg", json_text(text));
    json_array_append_new(errors, error);
}

#define COMPLAIN(reading, field, ...)                                                              \
    kernelgym_fields_complain((reading)->errors, (reading)->at, (field)->name, __VA_ARGS__)

static const char *plural_s(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void read_text(struct reading *reading, const struct kernelgym_field *field,
                      const json_t *value, const char **out)
{
    const char *text = json_string_value(value);
    if (!text) {
        COMPLAIN(reading, field, "string_type", "Input should be a valid string");
        return;
    }
    int64_t length = (int64_t)kernelgym_characters(text);
    if (length < field->low)
        COMPLAIN(reading, field, "string_too_short", "String should have at least %lld character%s",
                 (long long)field->low, plural_s(field->low));
    else if (field->high > 0 && length > field->high)
        COMPLAIN(reading, field, "string_too_long", "String should have at most %lld character%s",
                 (long long)field->high, plural_s(field->high));
    else
        *out = text;
}

static void read_choice(struct reading *reading, const struct kernelgym_field *field,
                        const json_t *value, const char **out)
{
    char list[128] = "";
    const char *text = json_string_value(value);
    if (text && reading->strictness == FIELDS_CLAMPED) {
        *out = text;
        return;
    }
    for (size_t i = 0; i < KERNELGYM_CHOICES && field->choices[i]; i++) {
        if (text && strcmp(text, field->choices[i]) == 0) {
            *out = text;
            return;
        }
        size_t length = strlen(list);
        bool last = i + 1 == KERNELGYM_CHOICES || !field->choices[i + 1];
        snprintf(list + length, sizeof list - length, "%s'%s'",
                 i == 0 ? ""
                 : last ? " or "
                        : ", ",
                 field->choices[i]);
    }
    COMPLAIN(reading, field, "enum", "Input should be %s", list);
}

/* NULL, or why the value is not an integer. */
static const char *integer_of(const json_t *value, int64_t *out, const char **type)
{
    *type = "int_type";
    if (json_is_integer(value) || json_is_boolean(value)) {
        *out = json_is_integer(value) ? json_integer_value(value) : json_is_true(value);
        return NULL;
    }
    if (json_is_real(value)) {
        double number = json_real_value(value);
        *type = "int_from_float";
        if (number != floor(number) || fabs(number) > 0x1p53)
            return "Input should be a valid integer, got a number with a fractional part";
        *out = (int64_t)number;
        return NULL;
    }
    const char *text = json_string_value(value);
    if (!text)
        return "Input should be a valid integer";
    char *end;
    *type = "int_parsing";
    errno = 0;
    long long number = strtoll(text, &end, 10);
    end += strspn(end, " \t\r\n");
    if (*text == '\0' || *end != '\0' || errno || strlen(text) > INTEGER_TEXT_BYTES)
        return "Input should be a valid integer, unable to parse string as an integer";
    *out = number;
    return NULL;
}

static void read_integer(struct reading *reading, const struct kernelgym_field *field,
                         const json_t *value, int64_t *out)
{
    int64_t number = 0;
    const char *type;
    const char *why = integer_of(value, &number, &type);
    bool clamp = reading->strictness == FIELDS_CLAMPED;
    if (why)
        COMPLAIN(reading, field, type, "%s", why);
    else if (number < field->low && !clamp)
        COMPLAIN(reading, field, "greater_than_equal",
                 "Input should be greater than or equal to %lld", (long long)field->low);
    else if (number > field->high && !clamp)
        COMPLAIN(reading, field, "less_than_equal", "Input should be less than or equal to %lld",
                 (long long)field->high);
    else
        *out = number < field->low ? field->low : number > field->high ? field->high : number;
}

/* 1, 0, or -1: not a boolean. */
static int boolean_of(const json_t *value)
{
    static const char *const words[] = {"false", "true", "0", "1", "no", "yes",
                                        "off",   "on",   "f", "t", "n",  "y"};
    if (json_is_boolean(value))
        return json_is_true(value);
    if (json_is_number(value)) {
        double number = json_number_value(value);
        return number == 0 || number == 1 ? (int)number : -1;
    }
    const char *text = json_string_value(value);
    for (size_t i = 0; text && i < COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return i % 2 == 1;
    return -1;
}

static void read_boolean(struct reading *reading, const struct kernelgym_field *field,
                         const json_t *value)
{
    int got = boolean_of(value);
    bool scalar = json_is_string(value) || json_is_number(value);
    if (got < 0)
        COMPLAIN(reading, field, scalar ? "bool_parsing" : "bool_type",
                 "Input should be a valid boolean%s", scalar ? ", unable to interpret input" : "");
    else if (field->kind == FIELD_FLAG)
        *(int *)(void *)(reading->into + field->offset) = got;
    else
        *(bool *)(reading->into + field->offset) = got;
}

static void read_container(struct reading *reading, const struct kernelgym_field *field,
                           const json_t *value, const json_t **out)
{
    bool list = field->kind == FIELD_LIST;
    int64_t count = (int64_t)json_array_size(value);
    if (!(list ? json_is_array(value) : json_is_object(value)))
        COMPLAIN(reading, field, list ? "list_type" : "dict_type", "Input should be a valid %s",
                 list ? "list" : "dictionary");
    else if (list && count < field->low)
        COMPLAIN(reading, field, "too_short",
                 "List should have at least %lld item%s after validation, not %lld",
                 (long long)field->low, plural_s(field->low), (long long)count);
    else if (list && field->high > 0 && count > field->high)
        COMPLAIN(reading, field, "too_long",
                 "List should have at most %lld item%s after validation, not %lld",
                 (long long)field->high, plural_s(field->high), (long long)count);
    else
        *out = value;
}

static void set_default(char *into, const struct kernelgym_field *field)
{
    void *at = into + field->offset;
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_CHOICE:
        *(const char **)at = field->text;
        break;
    case FIELD_INT:
        *(int64_t *)at = field->number;
        break;
    case FIELD_BOOL:
        *(bool *)at = field->number;
        break;
    case FIELD_FLAG:
        *(int *)at = -1;
        break;
    case FIELD_OBJECT:
    case FIELD_LIST:
        *(const json_t **)at = NULL;
        break;
    }
}

static void read_field(struct reading *reading, const struct kernelgym_field *field,
                       const json_t *value)
{
    void *at = reading->into + field->offset;
    switch (field->kind) {
    case FIELD_TEXT:
        read_text(reading, field, value, at);
        break;
    case FIELD_CHOICE:
        read_choice(reading, field, value, at);
        break;
    case FIELD_INT:
        read_integer(reading, field, value, at);
        break;
    case FIELD_BOOL:
    case FIELD_FLAG:
        read_boolean(reading, field, value);
        break;
    case FIELD_OBJECT:
    case FIELD_LIST:
        read_container(reading, field, value, at);
        break;
    }
}

void kernelgym_fields_read(const json_t *object, const json_t *at,
                           const struct kernelgym_field *fields, size_t count,
                           enum kernelgym_strictness strictness, void *into, json_t *errors)
{
    struct reading reading = {at, strictness, into, errors};
    bool usable = json_is_object(object);
    if (!usable)
        kernelgym_fields_complain(errors, at, NULL, "model_attributes_type",
                                  "Input should be a valid dictionary or object to extract fields "
                                  "from");
    for (size_t i = 0; i < count; i++) {
        const struct kernelgym_field *field = &fields[i];
        const json_t *value = json_object_get(object, field->name);
        set_default(reading.into, field);
        if (value && !(json_is_null(value) && field->nullable))
            read_field(&reading, field, value);
        else if (!value && field->required && usable)
            COMPLAIN(&reading, field, "missing", "Field required");
    }
}
