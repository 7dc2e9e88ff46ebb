/* internal: what parse.c, fence.c and dialect.c share.
 *
 * A dialect describes how a language looks in an answer: the labels of its fences, the beginnings
 * of its lines, its entry point. Texts are spans of the answer: any bytes, nothing is copied or
 * freed. Threads: pure.
 */
#pragma once

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

struct dialect;

/* Other languages (NULL, too) get a dialect whose only label is the name. */
const struct dialect *dialect_of(const char *language);

enum dialect_rank { RANK_FOREIGN, RANK_NONE, RANK_NEAR, RANK_OWN };

/* How well a fence's label fits. */
enum dialect_rank dialect_rank(const struct dialect *dialect, const char *language,
                               struct span label);
/* Whether a line looks like the first one of a source. */
bool dialect_begins(const struct dialect *dialect, struct span line);
/* Whether the code has an entry point for the judge. */
bool dialect_has_entry(const struct dialect *dialect, struct span code);

struct fenced {
    struct span body;
    bool complete;
};

/* The fenced block of `text` that is the source, by rule 3 of parse.h. False: none. */
bool fence_choose(struct span text, const struct dialect *dialect, const char *language,
                  struct fenced *out);
