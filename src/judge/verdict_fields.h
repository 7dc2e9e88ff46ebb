/* verdict_fields: the verdict's JSON as a table, one row for each key.
 *
 * verdict_json and verdict_read (verdict.h) walk it; the JSON schema, the OpenAPI type, the Python
 * types and the table in docs/reference/verdict.md are generated from it (scripts/verdict). A new
 * field is a member of struct verdict and a row.
 *
 * Rows are immutable and hold no verdict's data. Threads: any. Errors: only readers of special rows
 * return any, as verdict_read does.
 */
#pragma once

#include "base/err.h"
#include "judge/verdict.h"

enum verdict_kind {
    FIELD_SCHEMA,  /* the constant 1; no member */
    FIELD_STATUS,  /* enum verdict_status */
    FIELD_TEXT,    /* const char *, in the verdict's arena */
    FIELD_HASH,    /* char[HASH_HEX_BYTES] */
    FIELD_BOOL,    /* bool */
    FIELD_COUNT,   /* uint32_t */
    FIELD_LONG,    /* uint64_t */
    FIELD_REAL,    /* double; null where it is not finite */
    FIELD_KNOWN,   /* double; null where it is negative */
    FIELD_INTEGER, /* int; null where it is negative */
    FIELD_PAIR,    /* double[2], each as FIELD_REAL */
    FIELD_SHAPE,   /* uint32_t[3] */
    FIELD_OBJECT,  /* fields of their own, at `offset` */
    FIELD_LIST,    /* an array of such objects */
    FIELD_SPECIAL, /* functions: `special` */
};

enum {                     /* flags */
       FIELD_NULLABLE = 1, /* null where the text is NULL, or where an object is not `present` */
       FIELD_OPTIONAL = 2, /* the key is absent where it is not `present` */
       FIELD_EMPTY = 4,    /* null stands for the text "" */
       FIELD_NEEDED = 8,   /* what has not got it is not read */
};

struct verdict_special {
    /* A new reference. */
    json_t *(*write)(const void *base);
    /* `path` names the value in errors. NULL: it follows from other fields. */
    int (*read)(struct verdict *verdict, void *base, const json_t *value, const char *path,
                struct err *err);
    const char *schema; /* JSON schema, as text */
    const char *type;   /* the same in words */
};

struct verdict_field {
    const char *key;
    enum verdict_kind kind;
    unsigned flags;
    size_t offset;                     /* from the beginning of the struct that the shape is of */
    const struct verdict_shape *shape; /* OBJECT, LIST */
    /* LIST: bytes of one, how many there is space for, and where a uint32_t counts them. */
    size_t bytes, most, count_offset;
    bool (*present)(const void *base); /* NULL: always */
    const struct verdict_special *special;
    const char *meaning;
};

struct verdict_shape {
    const char *name; /* of its type: "KernelShare" */
    const struct verdict_field *fields;
    size_t count;
    /* Called when all fields were read; NULL: nothing is left to do. */
    void (*after)(void *base, const json_t *object);
};

extern const struct verdict_shape verdict_shape;
