/* internal: what parse.c, fence.c and dialect.c share.
 *
 * The labels of a language's fences stand in its row (language.h); the beginnings of its lines and
 * its entry point follow from its syntax. Texts are spans of the answer: any bytes, nothing is
 * copied or freed. Threads: pure.
 */
#pragma once

#include "judge/request/language.h"

#include <stdbool.h>
#include <stddef.h>

struct span {
    const char *at;
    size_t count;
};

bool span_is_space(char byte);
/* Without white space at both ends. */
struct span span_trim(struct span text);
/* Removes the next line from *text, without its line feed; false: none left. */
bool span_line(struct span *text, struct span *line);
bool span_begins(struct span text, const char *prefix);
bool span_begins_any_case(struct span text, const char *prefix);

/* A language without a row has its name as its only label. */
struct answer_language {
    const char *name;           /* NULL: none is known */
    const struct language *row; /* NULL: it is none of ours */
};

enum dialect_rank { RANK_FOREIGN, RANK_NONE, RANK_NEAR, RANK_OWN };

/* How well a fence's label fits. */
enum dialect_rank dialect_rank(const struct answer_language *language, struct span label);
/* Whether a line looks like the first one of a source. */
bool dialect_begins(const struct answer_language *language, struct span line);
/* Whether the code has an entry point for the judge. */
bool dialect_has_entry(const struct answer_language *language, struct span code);

struct fenced {
    struct span body;
    bool complete;
};

/* The fenced block of `text` that is the source, by rule 3 of parse.h. False: none. */
bool fence_choose(struct span text, const struct answer_language *language, struct fenced *out);
