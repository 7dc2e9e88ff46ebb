/* verdict_schema: the table of verdict_fields.h as JSON schema (draft 2020-12).
 *
 * Strict: a key that is not in the table is refused, and so is a verdict that lacks one which is
 * not optional; verdict_read (verdict.h) refuses the same. Threads: pure. Ownership: new
 * references.
 */
#pragma once

#include "judge/verdict_fields.h"

#include <jansson.h>

/* What a value of each kind looks like in JSON; columns as in VERDICT_KINDS. */
struct verdict_form {
    json_type type; /* JSON_REAL: any number; JSON_TRUE: a boolean */
    bool nullable;
    int64_t most;
    int entries;
    const char *words;
};

extern const struct verdict_form verdict_forms[];

/* The schema of a document that is a verdict. */
json_t *verdict_schema(void);
/* Its types by name, "Verdict" among them; `prefix` is where references look for them:
 * "#/components/schemas/". */
json_t *verdict_schema_types(const char *prefix);
