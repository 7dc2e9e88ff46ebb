#include "base/log_record.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#define ROOM (LOG_RECORD_BYTES - 3) /* reserves the end: "}\n */

/* A closing quote may use the reserved bytes. */
static size_t room(const struct log_record *record)
{
    return record->full || record->used >= ROOM ? 0 : ROOM - record->used;
}

/* Appends all bytes or none; after the first overflow, none. */
static void add_bytes(struct log_record *record, const char *bytes, size_t count)
{
    record->full = record->full || count > room(record);
    if (record->full)
        return;
    memcpy(record->text + record->used, bytes, count);
    record->used += count;
}

static void add(struct log_record *record, const char *text)
{
    add_bytes(record, text, strlen(text));
}

/* One character of a quoted value; returns how many bytes of `at` it was. */
static size_t add_character(struct log_record *record, const char *at, size_t left)
{
    char escape[8];
    bool json = record->format == LOG_FORMAT_JSON;
    unsigned char byte = (unsigned char)*at;
    if (byte == '"' || byte == '\\')
        snprintf(escape, sizeof escape, "\\%c", byte);
    else if (byte == '\n')
        snprintf(escape, sizeof escape, "\\n");
    else if (byte < ' ' || byte == 0x7F)
        snprintf(escape, sizeof escape, json ? "\\u%04x" : "\\x%02x", byte);
    else {
        size_t length = utf8_sequence(at, left);
        if (length == 0)
            add(record, UTF8_REPLACEMENT);
        else
            add_bytes(record, at, length);
        return length ? length : 1;
    }
    add(record, escape);
    return 1;
}

/* A text value stays bare where nothing in it could be taken for syntax. */
static bool is_bare(const struct log_record *record, const char *value)
{
    if (record->format == LOG_FORMAT_JSON || *value == '\0')
        return false;
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at <= ' ' || strchr("\"=\\", *at) || (unsigned char)*at >= 0x7F)
            return false;
    return true;
}

static void add_value(struct log_record *record, const char *value)
{
    if (is_bare(record, value)) {
        size_t length = strlen(value), most = room(record);
        add_bytes(record, value, length < most ? length : most);
        record->full = length > most;
        return;
    }
    add(record, "\"");
    for (size_t left = strlen(value); left > 0 && !record->full;) {
        size_t length = add_character(record, value, left);
        value += length;
        left -= length;
    }
    record->text[record->used++] = '"'; /* the reserved bytes have space for it */
}

void log_record_init(struct log_record *record, enum log_format format)
{
    record->format = format;
    record->used = 0;
    record->full = false;
    if (format == LOG_FORMAT_JSON)
        add(record, "{");
}

void log_record_field(struct log_record *record, const char *key, const char *value)
{
    bool json = record->format == LOG_FORMAT_JSON;
    bool first = record->used == (json ? 1 : 0);
    char start[80];
    int length = snprintf(start, sizeof start,
                          json ? "%s\"%s\":" : "%s%s=", first ? "" : (json ? "," : " "), key);
    /* Writes the key with an opening quote, or nothing. */
    if ((size_t)length >= sizeof start || (size_t)length + 2 > room(record)) {
        record->full = true;
        return;
    }
    add(record, start);
    add_value(record, value);
}

void log_record_end(struct log_record *record)
{
    if (record->format == LOG_FORMAT_JSON)
        record->text[record->used++] = '}';
    record->text[record->used++] = '\n';
}
