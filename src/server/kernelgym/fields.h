/* kernelgym_fields: reads an object as KernelGYM's models do, by a table of its fields.
 *
 * As lenient as they are: ignores unknown fields, allows null if the table says so, takes "5"
 * and 5.0 as integers, "yes" and 1 as true. Every mistake becomes one entry {"type", "loc",
 * "msg"} of a list, in pydantic's words, so that a client sees all of them at once.
 *
 * Ownership: stored strings and containers belong to the object that was read. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernelgym_kind {
    FIELD_TEXT,   /* const char *; low..high characters */
    FIELD_CHOICE, /* const char *, one of `choices` */
    FIELD_INT,    /* int64_t, low..high */
    FIELD_BOOL,   /* bool */
    FIELD_FLAG,   /* int: -1 if absent or null */
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
    FIELDS_CLAMPED, /* integers are clamped, a choice may be any text */
};

/* Appends a mistake. `at` is the object's location: ["body", "tasks", 3]; name may be NULL. */
void kernelgym_fields_complain(json_t *errors, const json_t *at, const char *name, const char *type,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Fills `into`, defaults too; an invalid field gets its default and an entry in `errors`. */
void kernelgym_fields_read(const json_t *object, const json_t *at,
                           const struct kernelgym_field *fields, size_t count,
                           enum kernelgym_strictness strictness, void *into, json_t *errors);

/* Code points of UTF-8. */
size_t kernelgym_characters(const char *text);
