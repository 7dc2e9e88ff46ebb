#include "base/json_scan.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 64 /* a longer one is no number that we write */

static void skip_space(struct json_scan *scan)
{
    while (scan->at < scan->end && *scan->at && strchr(" \t\r\n", *scan->at))
        scan->at++;
}

static bool take_byte(struct json_scan *scan, char byte)
{
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != byte)
        return false;
    scan->at++;
    return true;
}

/* From a quote to behind the one that ends it. */
static bool skip_string(struct json_scan *scan)
{
    const char *begin = ++scan->at;
    for (;;) {
        const char *quote = memchr(scan->at, '"', (size_t)(scan->end - scan->at));
        if (!quote)
            return false;
        const char *before = quote;
        while (before > begin && before[-1] == '\\')
            before--;
        scan->at = quote + 1;
        if ((quote - before) % 2 == 0)
            return true;
    }
}

/* From a bracket to behind the one that ends it. */
static bool skip_container(struct json_scan *scan)
{
    size_t depth = 0;
    while (scan->at < scan->end) {
        char byte = *scan->at;
        if (byte == '"') {
            if (!skip_string(scan))
                return false;
            continue;
        }
        scan->at++;
        if (byte == '{' || byte == '[')
            depth++;
        else if ((byte == '}' || byte == ']') && --depth == 0)
            return true;
    }
    return false;
}

static bool skip_value(struct json_scan *scan)
{
    if (scan->at == scan->end)
        return false;
    if (*scan->at == '"')
        return skip_string(scan);
    if (*scan->at == '{' || *scan->at == '[')
        return skip_container(scan);
    const char *begin = scan->at;
    while (scan->at < scan->end && *scan->at && !strchr(",}] \t\r\n", *scan->at))
        scan->at++;
    return scan->at > begin;
}

int json_scan_begin(struct json_scan *scan, struct json_slice object)
{
    if (!object.text)
        return ERR_INPUT;
    *scan = (struct json_scan){object.text, object.text + object.count, true};
    return take_byte(scan, '{') ? 0 : ERR_INPUT;
}

int json_scan_next(struct json_scan *scan, struct json_slice *key, struct json_slice *value)
{
    if (take_byte(scan, '}')) {
        skip_space(scan);
        return scan->at == scan->end ? 0 : ERR_INPUT;
    }
    if (!scan->first && !take_byte(scan, ','))
        return ERR_INPUT;
    scan->first = false;
    skip_space(scan);
    key->text = scan->at + 1;
    if (scan->at == scan->end || *scan->at != '"' || !skip_string(scan))
        return ERR_INPUT;
    key->count = (size_t)(scan->at - key->text) - 1;
    if (!take_byte(scan, ':'))
        return ERR_INPUT;
    skip_space(scan);
    value->text = scan->at;
    if (!skip_value(scan))
        return ERR_INPUT;
    value->count = (size_t)(scan->at - value->text);
    return 1;
}

struct json_slice json_scan_member(struct json_slice object, const char *name)
{
    struct json_scan scan;
    struct json_slice key, value;
    if (json_scan_begin(&scan, object) < 0)
        return (struct json_slice){0};
    while (json_scan_next(&scan, &key, &value) > 0)
        if (json_slice_is(key, name))
            return value;
    return (struct json_slice){0};
}

bool json_slice_is(struct json_slice slice, const char *text)
{
    return slice.text && strlen(text) == slice.count && memcmp(slice.text, text, slice.count) == 0;
}

double json_slice_number(struct json_slice value)
{
    char text[NUMBER_BYTES], *end;
    if (!value.text || value.count == 0 || value.count >= sizeof text ||
        !strchr("-0123456789", value.text[0]))
        return NAN;
    memcpy(text, value.text, value.count);
    text[value.count] = '\0';
    double number = strtod(text, &end);
    return *end == '\0' ? number : NAN;
}

char *json_slice_text(struct json_slice value)
{
    if (!value.text || value.count < 2 || value.text[0] != '"')
        return NULL;
    json_t *text = json_loadb(value.text, value.count, JSON_DECODE_ANY, NULL);
    char *copy = json_is_string(text) ? mem_strdup(json_string_value(text)) : NULL;
    json_decref(text);
    return copy;
}
