#include "base/json.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_TEXT_BYTES 127

struct source_line {
    const char *name;
    size_t line; /* of the text's first line */
};

/* jansson recurses as deep as the text nests, so the depth is bounded first. Skips strings; leaves
 * everything else to the parser. 0, or the offset behind the bracket that is too deep. */
static size_t too_deep(const char *text, size_t count)
{
    size_t depth = 0;
    bool inside = false;
    for (size_t i = 0; i < count; i++) {
        if (inside && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            inside = !inside;
        else if (!inside && (text[i] == '[' || text[i] == '{') && ++depth > JSON_DEPTH_MAX)
            return i + 1;
        else if (!inside && (text[i] == ']' || text[i] == '}') && depth > 0)
            depth--;
    }
    return 0;
}

/* Line and column, counted in bytes from 1, of the byte before `offset`. */
static void locate(const char *text, size_t offset, size_t *line, size_t *column)
{
    *line = 1;
    *column = 0;
    for (size_t i = 0; i < offset; i++) {
        bool before_newline = i > 0 && text[i - 1] == '\n';
        *line += before_newline;
        *column = before_newline ? 1 : *column + 1;
    }
}

static int parse_at(const struct source_line *at, const char *text, size_t count, json_t **out,
                    struct err *err)
{
    size_t line, column;
    *out = NULL;
    size_t deep = too_deep(text, count);
    if (deep > 0) {
        locate(text, deep, &line, &column);
        return err_set(err, ERR_LIMIT, "%s:%zu:%zu: nested deeper than %d levels", at->name,
                       at->line + line - 1, column, JSON_DEPTH_MAX);
    }
    json_error_t error;
    *out = json_loadb(text, count, JSON_REJECT_DUPLICATES, &error);
    if (*out)
        return 0;
    line = error.line > 0 ? (size_t)error.line : 1;
    column = error.column > 0 ? (size_t)error.column : 1;
    return err_set(err, ERR_INPUT, "%s:%zu:%zu: not JSON: %s", at->name, at->line + line - 1,
                   column, error.text);
}

int json_parse(const char *name, const char *text, size_t count, json_t **out, struct err *err)
{
    return parse_at(&(struct source_line){name, 1}, text, count, out, err);
}

int json_parse_line(const char *name, size_t line, const char *text, size_t count, json_t **out,
                    struct err *err)
{
    return parse_at(&(struct source_line){name, line}, text, count, out, err);
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

static int wrong_type(const char *key, const char *wanted, const json_t *value, struct err *err)
{
    return err_set(err, ERR_INPUT, "'%s' must be %s, not %s", key, wanted, type_name(value));
}

static int missing(const char *key, const char *wanted, struct err *err)
{
    return err_set(err, ERR_INPUT, "'%s' is missing; it must be %s", key, wanted);
}

/* The value, or NULL when it is absent or null. */
static json_t *find(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

/* The find half and the get half of one type; `test` and `store` see the value as `value`. */
#define GETTERS(kind, type, wanted, test, store)                                                   \
    int json_find_##kind(const json_t *object, const char *key, type *out, struct err *err)        \
    {                                                                                              \
        json_t *value = find(object, key);                                                         \
        if (!value)                                                                                \
            return 0;                                                                              \
        if (!(test))                                                                               \
            return wrong_type(key, wanted, value, err);                                            \
        *out = (store);                                                                            \
        return 0;                                                                                  \
    }                                                                                              \
    int json_get_##kind(const json_t *object, const char *key, type *out, struct err *err)         \
    {                                                                                              \
        if (!find(object, key))                                                                    \
            return missing(key, wanted, err);                                                      \
        return json_find_##kind(object, key, out, err);                                            \
    }

GETTERS(string, const char *, "a string", json_is_string(value), json_string_value(value))
GETTERS(int, int64_t, "an integer", json_is_integer(value), json_integer_value(value))
GETTERS(double, double, "a number", json_is_number(value), json_number_value(value))
GETTERS(bool, bool, "true or false", json_is_boolean(value), json_is_true(value))
GETTERS(array, json_t *, "an array", json_is_array(value), value)
GETTERS(object, json_t *, "an object", json_is_object(value), value)

const char *json_text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

bool json_text_is_plain(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    bool fits = text && length > 0 && length <= SHORT_TEXT_BYTES;
    for (size_t i = 0; fits && i < length; i++)
        fits = isalnum((unsigned char)text[i]) || strchr(" .,-_()/+:@", text[i]);
    return fits;
}

int json_check_keys(const json_t *object, const char *const *names, size_t count, struct err *err)
{
    /* Iteration does not change the object; jansson's iterators are not const-correct. */
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at)) {
        const char *key = json_object_iter_key(at);
        size_t i = 0;
        while (i < count && strcmp(names[i], key) != 0)
            i++;
        if (i == count)
            return err_unknown(err, "key", key, names, count);
    }
    return 0;
}

static json_t *sure(json_t *value)
{
    if (!value)
        abort(); /* out of memory is all that is left */
    return value;
}

int json_file_read(const char *path, size_t max_bytes, json_t **out, struct err *err)
{
    char *text = NULL;
    size_t count;
    *out = NULL;
    int result = file_read(path, max_bytes, &text, &count, err);
    if (result == 0)
        result = json_parse(path, text, count, out, err);
    mem_free(text);
    return result;
}

int json_file_write(const char *path, const json_t *value, bool exact, struct err *err)
{
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(exact ? 17 : 15));
    int result = text ? file_write_atomic(path, text, strlen(text), 0644, err)
                      : err_set(err, ERR_INTERNAL, "%s: cannot write a value as JSON", path);
    free(text);
    return result;
}

json_t *json_number(double value)
{
    return sure(isfinite(value) ? json_real(value) : json_null());
}

json_t *json_integers(const int32_t *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(values[i]));
    return list;
}

json_t *json_numbers(const float *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_number((double)values[i]));
    return list;
}

json_t *json_known(double value)
{
    if (!(value >= 0))
        return json_null();
    return value < 0x1p53 && value == floor(value) ? json_integer((json_int_t)value)
                                                   : json_number(value);
}

json_t *json_text(const char *text)
{
    return text ? json_text_bytes(text, strlen(text)) : json_null();
}

json_t *json_time(int64_t wall_ms)
{
    char text[CLOCK_TEXT_BYTES];
    clock_text(wall_ms, text);
    return json_text(wall_ms != 0 && *text ? text : NULL);
}

json_t *json_text_bytes(const char *bytes, size_t count)
{
    json_t *whole = json_stringn(bytes, count);
    if (whole && !memchr(bytes, '\0', count))
        return whole;
    json_decref(whole);
    size_t length;
    char *clean = utf8_mended(bytes, count, &length);
    json_t *value = sure(json_stringn(clean, length));
    mem_free(clean);
    return value;
}

void json_put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        abort();
}

static int append(const char *bytes, size_t count, void *data)
{
    buf_append(data, bytes, count);
    return 0;
}

int json_line_write(const json_t *value, struct buf *out, struct err *err)
{
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);
    if (json_dump_callback(value, append, out, flags) < 0)
        return err_set(err, ERR_INTERNAL, "cannot write a value as JSON");
    buf_append(out, "\n", 1);
    if (out->cut)
        return err_set(err, ERR_LIMIT, "a line of JSON is longer than %zu bytes", out->max_bytes);
    return 0;
}

char *json_line_text(const json_t *value, size_t max_bytes, struct err *err)
{
    struct buf line;
    buf_init(&line, max_bytes + 1);
    if (json_line_write(value, &line, err) < 0) {
        buf_deinit(&line);
        return NULL;
    }
    line.data[line.len - 1] = '\0';
    return buf_take(&line);
}
