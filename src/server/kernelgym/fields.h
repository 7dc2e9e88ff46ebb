/* kernelgym_fields: reading an object the way KernelGYM's models do, by a table of its fields.
 *
 * Lenient where they are: unknown fields are ignored, null is allowed where the table says so, "5"
 * and 5.0 are integers, "yes" and 1 are true. Every mistake becomes one entry {"type", "loc",
 * "msg"} of a list, in the words that pydantic uses, so that a client sees all of them at once.
 *
 * Ownership: strings and containers that are stored belong to the object that was read.
 */
#ifndef WARPGYM_SERVER_KERNELGYM_FIELDS_H
#define WARPGYM_SERVER_KERNELGYM_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernelgym_kind {
    FIELD_TEXT,   /* const char *; low..high characters */
    FIELD_CHOICE, /* const char *, one of `choices` */
    FIELD_INT,    /* int64_t, low..high */
    FIELD_BOOL,   /* bool */
    FIELD_FLAG,   /* int: -1 where it is absent or null */
    FIELD_OBJECT, /* const json_t *, or NULL */
    FIELD_LIST,   /* const json_t *, or NULL; low..high items */
};

#define KERNELGYM_CHOICES 4

struct kernelgym_field {
    const char *name;
    enum kernelgym_kind kind;
    size_t offset;
    bool required, nullable;
    int64_t low, high;
    const char *text; /* default of a text or choice; NULL */
    int64_t number;   /* default of an integer or boolean */
    const char *choices[KERNELGYM_CHOICES];
};

enum kernelgym_strictness {
    FIELDS_CHECKED,
    FIELDS_CLAMPED, /* integers come to the nearest bound, a choice may be any text */
};

/* One mistake more. `at` is where the object stands: ["body", "tasks", 3]; name may be NULL. */
void kernelgym_fields_complain(json_t *errors, const json_t *at, const char *name, const char *type,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Fills `into`, defaults too; what was wrong stands in `errors` and has its default. */
void kernelgym_fields_read(const json_t *object, const json_t *at,
                           const struct kernelgym_field *fields, size_t count,
                           enum kernelgym_strictness strictness, void *into, json_t *errors);

/* Code points of UTF-8. */
size_t kernelgym_characters(const char *text);

#endif
