/* verdict_fields: the verdict's JSON as a table, one row for each key.
 *
 * verdict_json and verdict_read (verdict.h) walk it. verdict_schema makes a JSON schema of it, and
 * scripts/verdict makes docs/schemas/verdict.schema.json, the Python types and the tables
 * of docs/reference/verdict.md; the server puts it into its OpenAPI description. A new field is a
 * member of struct verdict, a row, and where the member is set.
 *
 * Rows are immutable and hold no verdict's data. Threads: any.
 */
#pragma once

#include "base/err.h"
#include "judge/verdict.h"

/* X(symbol, JSON type, whether null is allowed, most of an integer, entries of an array, in words)
 *
 * Entries: 0: it is no array; n > 0: it has n; n < 0: it has at most -n. */
#define VERDICT_KINDS(X)                                                                           \
    X(FIELD_SCHEMA, JSON_INTEGER, false, 1, 0, "1") /* a constant; no member */                    \
    X(FIELD_STATUS, JSON_STRING, false, 0, 0, "a status of docs/reference/verdict.md")             \
    X(FIELD_TEXT, JSON_STRING, false, 0, 0, "a string") /* const char * */                         \
    X(FIELD_HASH, JSON_STRING, false, 0, 0, "a hash")   /* char[HASH_HEX_BYTES] */                 \
    X(FIELD_BOOL, JSON_TRUE, false, 0, 0, "true or false")                                         \
    X(FIELD_COUNT, JSON_INTEGER, false, UINT32_MAX, 0,                                             \
      "an integer from 0 to 4294967295") /* uint32_t */                                            \
    X(FIELD_LONG, JSON_INTEGER, false, INT64_MAX, 0,                                               \
      "an integer that is not negative")                      /* uint64_t */                       \
    X(FIELD_REAL, JSON_REAL, true, 0, 0, "a number or null")  /* double; null: not finite */       \
    X(FIELD_KNOWN, JSON_REAL, true, 0, 0, "a number or null") /* double; null: negative */         \
    X(FIELD_INTEGER, JSON_INTEGER, true, INT32_MAX, 0,                                             \
      "an integer from 0 to 2147483647, or null")                /* int; null: negative */         \
    X(FIELD_PAIR, JSON_REAL, true, 0, 2, "two numbers or nulls") /* two FIELD_REAL */              \
    X(FIELD_INTEGERS, JSON_INTEGER, true, INT32_MAX, 2, "two integers or nulls")                   \
    X(FIELD_SHAPE, JSON_INTEGER, false, UINT32_MAX, 3, "three integers") /* uint32_t[3] */         \
    X(FIELD_TEXTS, JSON_STRING, false, 0, -VERDICT_WORDS, "an array of at most 64 strings")        \
    X(FIELD_OBJECT, JSON_OBJECT, false, 0, 0, "an object") /* fields of their own, at `offset` */  \
    X(FIELD_LIST, JSON_ARRAY, false, 0, 0, "an array")     /* of such objects */

enum verdict_kind {
#define X(symbol, type, nullable, most, entries, words) symbol,
    VERDICT_KINDS(X)
#undef X
};

enum {                     /* flags */
       FIELD_NULLABLE = 1, /* null where the text is NULL, or where an object is not `present` */
       FIELD_OPTIONAL = 2, /* the key is absent where it is not `present` */
       FIELD_EMPTY = 4,    /* null stands for the text "" */
};

/* A value that is not its member. */
struct verdict_special {
    /* A new reference, of the field's kind. */
    json_t *(*write)(const void *at);
    /* `value` is of the field's kind. NULL: it follows from other fields. */
    void (*read)(struct verdict *verdict, void *at, const json_t *value);
};

struct verdict_field {
    const char *key;
    enum verdict_kind kind;
    unsigned flags;
    size_t offset;                     /* from the beginning of the struct that the shape is of */
    const struct verdict_shape *shape; /* OBJECT, LIST */
    /* LIST: bytes of one, how many there is space for, and where a uint32_t counts them. */
    size_t bytes, most, count_offset;
    bool (*present)(const void *base);     /* NULL: always */
    const struct verdict_special *special; /* NULL: the member is the value */
    const char *meaning;
};

struct verdict_shape {
    const char *name; /* of its type: "VerdictKernel" */
    const struct verdict_field *fields;
    size_t count;
    /* Called when all fields were read; NULL: nothing is left to do. */
    void (*after)(void *base, const json_t *object);
};

extern const struct verdict_shape verdict_shape;
