#include "base/toml.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BARE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

struct reader {
    const char *name, *at, *end;
    size_t line;
    struct err *err;
};

static int fail(struct reader *reader, const char *why)
{
    return err_set(reader->err, ERR_INPUT, "%s:%zu: %s", reader->name, reader->line, why);
}

static bool takes(struct reader *reader, const char *mark)
{
    size_t length = strlen(mark);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, mark, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static void skip_blanks(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t");
}

static void skip_comment(struct reader *reader)
{
    skip_blanks(reader);
    if (*reader->at == '#')
        reader->at += strcspn(reader->at, "\n");
    if (*reader->at == '\r' && reader->at[1] == '\n')
        reader->at++;
}

/* Blanks, comments and line breaks. */
static void skip_lines(struct reader *reader)
{
    for (;;) {
        skip_comment(reader);
        if (*reader->at != '\n')
            return;
        reader->at++;
        reader->line++;
    }
}

static int read_code(struct reader *reader, int digits, struct buf *out)
{
    unsigned long code = 0;
    for (int i = 0; i < digits; i++) {
        static const char hex[] = "0123456789abcdef";
        char c = *reader->at;
        const char *found = c ? strchr(hex, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
        if (!found)
            return fail(reader, "a \\u or \\U needs 4 or 8 hexadecimal digits");
        code = code * 16 + (unsigned long)(found - hex);
        reader->at++;
    }
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return fail(reader, "\\u or \\U names no character");
    unsigned char bytes[4] = {(unsigned char)code};
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = count; count > 1 && i-- > 0; code >>= 6)
        bytes[i] = (unsigned char)(i ? 0x80 | (code & 0x3F) : (0xF00UL >> count & 0xFF) | code);
    buf_append(out, (char *)bytes, count);
    return 0;
}

/* Behind a backslash. */
static int read_escape(struct reader *reader, bool lines, struct buf *out)
{
    static const char codes[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
    char c = *reader->at;
    const char *found = c ? strchr(codes, c) : NULL;
    size_t blanks = strspn(reader->at, " \t\r");
    if (lines && reader->at[blanks] == '\n') {
        while (strchr(" \t\r\n", *reader->at) && reader->at < reader->end)
            reader->line += *reader->at++ == '\n';
        return 0;
    }
    if (c == 'u' || c == 'U') {
        reader->at++;
        return read_code(reader, c == 'u' ? 4 : 8, out);
    }
    if (!found)
        return fail(reader, "an unknown escape");
    buf_append(out, &values[found - codes], 1);
    reader->at++;
    return 0;
}

/* Behind the opening mark, to the closing one. */
static int read_string(struct reader *reader, const char *mark, json_t **value)
{
    bool lines = mark[1] != '\0', escapes = mark[0] == '"';
    struct buf out;
    int result = 0;
    buf_init(&out, (size_t)(reader->end - reader->at) + 1);
    if (lines && (takes(reader, "\r\n") || takes(reader, "\n")))
        reader->line++;
    for (;;) {
        if (reader->at == reader->end || (*reader->at == '\n' && !lines))
            result = fail(reader, "a string does not end");
        if (result < 0 || takes(reader, mark))
            break;
        char c = *reader->at++;
        reader->line += c == '\n';
        if (c == '\\' && escapes)
            result = read_escape(reader, lines, &out);
        else
            buf_append(&out, &c, 1);
    }
    while (result == 0 && lines && *reader->at == mark[0]) /* quotes before the closing ones */
        buf_append(&out, reader->at++, 1);
    *value = result == 0 ? json_text_bytes(out.data, out.len) : NULL;
    buf_deinit(&out);
    return result;
}

/* *value stays NULL where no string is. */
static int try_string(struct reader *reader, bool lines, json_t **value)
{
    static const char *const marks[] = {"\"\"\"", "'''", "\"", "'"};
    *value = NULL;
    for (size_t i = lines ? 0 : 2; i < 4; i++)
        if (takes(reader, marks[i]))
            return read_string(reader, marks[i], value);
    return 0;
}

static int read_value(struct reader *reader, int depth, json_t **value);

static int read_array(struct reader *reader, int depth, json_t **value)
{
    json_t *list = json_array(), *item;
    int result = depth == TOML_DEPTH ? fail(reader, "arrays are nested too deep") : 0;
    while (result == 0) {
        skip_lines(reader);
        if (takes(reader, "]"))
            break;
        result = read_value(reader, depth + 1, &item);
        if (result < 0)
            break;
        json_array_append_new(list, item);
        skip_lines(reader);
        if (!takes(reader, ",") && *reader->at != ']')
            result = fail(reader, "',' or ']' is missing in an array");
    }
    if (result < 0)
        json_decref(list);
    *value = result == 0 ? list : NULL;
    return result;
}

/* Underscores between digits are left out. */
static int read_number(struct reader *reader, json_t **value)
{
    char digits[64], *rest;
    size_t length = strspn(reader->at, BARE "+."), kept = 0;
    for (size_t i = 0; i < length && kept + 1 < sizeof digits; i++)
        if (reader->at[i] != '_')
            digits[kept++] = reader->at[i];
    digits[kept] = '\0';
    errno = 0;
    long long whole = strtoll(digits, &rest, 10);
    if (kept > 0 && *rest == '\0' && errno == 0) {
        *value = json_integer(whole);
    } else {
        double real = strtod(digits, &rest);
        if (kept == 0 || *rest != '\0' || length >= sizeof digits)
            return fail(reader, "a string, a number, true, false or an array is expected");
        *value = json_number(real);
    }
    reader->at += length;
    return 0;
}

static int read_value(struct reader *reader, int depth, json_t **value)
{
    int result = try_string(reader, true, value);
    if (result < 0 || *value)
        return result;
    if (takes(reader, "["))
        return read_array(reader, depth, value);
    if (takes(reader, "true") || takes(reader, "false")) {
        *value = json_boolean(reader->at[-2] == 'u');
        return 0;
    }
    return read_number(reader, value);
}

/* One name of a key; the caller's. */
static int read_name(struct reader *reader, json_t **name)
{
    skip_blanks(reader);
    int result = try_string(reader, false, name);
    if (result < 0 || *name)
        return result;
    size_t length = strspn(reader->at, BARE);
    if (length == 0)
        return fail(reader, "a key is expected");
    *name = json_text_bytes(reader->at, length);
    reader->at += length;
    return 0;
}

/* A dotted key below `table`: the table that its last name belongs to, and that name. */
static int read_key(struct reader *reader, json_t *table, json_t **owner, json_t **name)
{
    for (int depth = 0; depth < TOML_DEPTH; depth++) {
        int result = read_name(reader, name);
        if (result < 0)
            return result;
        *owner = table;
        skip_blanks(reader);
        if (!takes(reader, "."))
            return 0;
        const char *key = json_string_value(*name);
        if (!json_object_get(table, key))
            json_put(table, key, json_object());
        table = json_object_get(table, key);
        json_decref(*name);
        if (!json_is_object(table))
            return fail(reader, "a key leads into a value that is no table");
    }
    return fail(reader, "a key has too many names");
}

static int read_header(struct reader *reader, json_t *root, json_t **table)
{
    json_t *owner, *name;
    if (takes(reader, "["))
        return fail(reader, "arrays of tables are not read");
    int result = read_key(reader, root, &owner, &name);
    if (result < 0)
        return result;
    const char *key = json_string_value(name);
    if (!json_object_get(owner, key))
        json_put(owner, key, json_object());
    *table = json_object_get(owner, key);
    json_decref(name);
    if (!json_is_object(*table))
        return fail(reader, "a table has the name of a value");
    return takes(reader, "]") ? 0 : fail(reader, "']' is missing behind a table's name");
}

static int read_pair(struct reader *reader, json_t *table)
{
    json_t *owner, *name, *value = NULL;
    int result = read_key(reader, table, &owner, &name);
    if (result < 0)
        return result;
    if (!takes(reader, "="))
        result = fail(reader, "'=' is missing behind a key");
    skip_blanks(reader);
    if (result == 0 && json_object_get(owner, json_string_value(name)))
        result = fail(reader, "a key is given twice");
    if (result == 0)
        result = read_value(reader, 0, &value);
    if (result == 0)
        json_put(owner, json_string_value(name), value);
    json_decref(name);
    return result;
}

int toml_parse(const char *name, const char *text, size_t bytes, json_t **out, struct err *err)
{
    struct reader reader = {name, text, text + bytes, 1, err};
    json_t *root = json_object(), *table = root;
    int result = bytes > 0 ? file_check_text(name, text, bytes, err) : 0;
    for (; result == 0; skip_lines(&reader)) {
        skip_lines(&reader);
        if (reader.at == reader.end)
            break;
        result = takes(&reader, "[") ? read_header(&reader, root, &table)
                                     : read_pair(&reader, table);
        skip_comment(&reader);
        if (result == 0 && reader.at != reader.end && *reader.at != '\n')
            result = fail(&reader, "nothing more is expected in this line");
    }
    if (result < 0)
        json_decref(root);
    *out = result == 0 ? root : NULL;
    return result;
}
