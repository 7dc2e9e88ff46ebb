/* json: thin helpers over jansson (whose names begin with json_ too).
 *
 * Reading: strict text (RFC 8259, UTF-8, no duplicate keys, no NUL), bounded depth, errors with
 * their position. json_get_* requires the key; json_find_* leaves *out unchanged when the key is
 * absent or null. Both refuse a value of another type and name the key. `object` owns the strings
 * and containers that they return.
 *
 * Writing: constructors that succeed for every input. jansson returns NULL for NaN and for text
 * that is not UTF-8, and a candidate's output may hold both.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 64

/* An object or array. Errors: "NAME:LINE:COLUMN: …". *out is the caller's (json_decref). */
NODISCARD int json_parse(const char *name, const char *text, size_t count, json_t **out,
                         struct err *err);
/* The same for one line of many: `line` is its number, counted from 1. */
NODISCARD int json_parse_line(const char *name, size_t line, const char *text, size_t count,
                              json_t **out, struct err *err);

NODISCARD int json_get_string(const json_t *object, const char *key, const char **out,
                              struct err *err);
NODISCARD int json_get_int(const json_t *object, const char *key, int64_t *out, struct err *err);
NODISCARD int json_get_double(const json_t *object, const char *key, double *out, struct err *err);
NODISCARD int json_get_bool(const json_t *object, const char *key, bool *out, struct err *err);
NODISCARD int json_get_array(const json_t *object, const char *key, json_t **out, struct err *err);
NODISCARD int json_get_object(const json_t *object, const char *key, json_t **out, struct err *err);

NODISCARD int json_find_string(const json_t *object, const char *key, const char **out,
                               struct err *err);
NODISCARD int json_find_int(const json_t *object, const char *key, int64_t *out, struct err *err);
NODISCARD int json_find_double(const json_t *object, const char *key, double *out, struct err *err);
NODISCARD int json_find_bool(const json_t *object, const char *key, bool *out, struct err *err);
NODISCARD int json_find_array(const json_t *object, const char *key, json_t **out, struct err *err);
NODISCARD int json_find_object(const json_t *object, const char *key, json_t **out,
                               struct err *err);

/* object[key] where that is text; "" where it is anything else or absent. `object` owns it. */
const char *json_text_at(const json_t *object, const char *key);

/* Whether it is text of 1 to 127 letters, digits and blanks or .,-_()/+:@ as a device's name has
 * them: what another process sent may stand in a prompt then. */
bool json_text_is_plain(const json_t *value);

/* A key that is not among `names` is an error with the nearest one offered. */
NODISCARD int json_check_keys(const json_t *object, const char *const *names, size_t count,
                              struct err *err);

/* A whole file as JSON, bounded as by file_read; *out is NULL after an error. */
NODISCARD int json_file_read(const char *path, size_t max_bytes, json_t **out, struct err *err);
/* Writes a file as file_write_atomic does, indented. Reals have 15 significant digits, or, exact,
 * the 17 that are a double bit for bit. */
NODISCARD int json_file_write(const char *path, const json_t *value, bool exact, struct err *err);

/* New values. A number that is not finite becomes null; bytes that are not UTF-8, and NULs, become
 * U+FFFD; NULL text becomes null. Never NULL. */
json_t *json_number(double value);
/* A count or quantity, negative when unknown: null then; whole values become integers. */
json_t *json_known(double value);
json_t *json_text(const char *text);
/* Wall-clock time as text (clock_text); null for 0, which stands for "not yet". */
json_t *json_time(int64_t wall_ms);
json_t *json_text_bytes(const char *bytes, size_t count);
/* Arrays of token ids and of one number per token. */
json_t *json_integers(const int32_t *values, size_t count);
json_t *json_numbers(const float *values, size_t count);
/* Sets object[key], taking over the value's reference; a process without memory ends here. */
void json_put(json_t *object, const char *key, json_t *value);

/* Appends one compact line and a newline; keys in the order of their insertion, reals with 15
 * significant digits (0.1 stays 0.1). ERR_LIMIT when `out` is full: it then
 * holds a part. */
NODISCARD int json_line_write(const json_t *value, struct buf *out, struct err *err);
/* That line as a text of at most `max_bytes`, without the newline; the caller's (mem_free). NULL:
 * an error. */
char *json_line_text(const json_t *value, size_t max_bytes, struct err *err);
