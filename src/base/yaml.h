/* yaml: a YAML document as a small tree in which every node knows its line and column.
 *
 * A deliberate subset, read through libfyaml's events: mappings, sequences, scalars; depth and
 * numbers of entries are bounded. A line break at the end of a block scalar is dropped.
 *
 * yaml_read takes all of that, for readers that report every error of a file. yaml_parse refuses
 * what no file of ours needs: anchors, aliases, tags, keys given twice, several documents, and
 * control characters in scalars, so that what reads the tree can quote it in one line.
 *
 * Ownership: all nodes and texts live in the caller's arena. Threads: a tree is immutable.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define YAML_DEPTH 8
#define YAML_ENTRIES 256 /* of one mapping or sequence */

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING, YAML_ALIAS };

struct yaml_node {
    enum yaml_kind kind;
    uint32_t line, column; /* where it begins, from 1; a missing value: its key's */
    const char *text;      /* scalars; "" where the value is missing */
    size_t bytes;          /* of the text, which may hold a NUL */
    bool plain;            /* scalars: written without quotes */
    bool straight;         /* scalars: on one line and with no escapes, as in `text` */
    bool anchored, tagged;
    uint32_t count;                /* entries below it */
    const struct yaml_node *key;   /* as a value in a mapping: its key */
    const struct yaml_node *first; /* entries, in the order of the text */
    const struct yaml_node *next;
};

struct yaml {
    const char *name; /* how errors call the document: a path */
    struct arena *arena;
    struct err *err;                /* filled by each function that fails */
    const struct yaml_node *root;   /* NULL: there is no document */
    const struct yaml_node *second; /* where another document begins, which is not read; or NULL */
};

/* After an error (of the syntax, or of a bound) the tree is what was read before it. */
NODISCARD int yaml_read(struct yaml *yaml, struct arena *arena, const char *name, const char *text,
                        size_t bytes, struct err *err);
NODISCARD int yaml_parse(struct yaml *yaml, struct arena *arena, const char *name, const char *text,
                         size_t bytes, struct err *err);

/* "NAME:LINE:COLUMN: …" as ERR_INPUT; returns ERR_INPUT. */
int yaml_fail(const struct yaml *yaml, const struct yaml_node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, for the place `skip` characters behind the begin of a scalar's text (for the scalar
 * itself where the document writes that text in another way). */
int yaml_fail_inside(const struct yaml *yaml, const struct yaml_node *at, uint32_t skip,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The value of a key, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key);

/* Each of these says what is wrong with the node unless it is of that kind; `what` names it. */
NODISCARD int yaml_expect(const struct yaml *yaml, const struct yaml_node *node,
                          enum yaml_kind kind, const char *what);
/* A mapping with no keys but these; an unknown one gets the nearest as a hint. */
NODISCARD int yaml_expect_keys(const struct yaml *yaml, const struct yaml_node *node,
                               const char *what, const char *const *keys, size_t count);
NODISCARD int yaml_expect_bool(const struct yaml *yaml, const struct yaml_node *node,
                               const char *what, bool *value);
/* A scalar that is one of `choices`: sets its place among them. */
NODISCARD int yaml_expect_choice(const struct yaml *yaml, const struct yaml_node *node,
                                 const char *what, const char *const *choices, size_t count,
                                 uint32_t *choice);
