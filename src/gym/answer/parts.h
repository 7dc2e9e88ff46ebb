/* parse_parts: what parse.c is made of. Private to gym/.
 *
 * A dialect is what a language looks like in an answer: labels of its fences, beginnings of its
 * lines, its entry point. Texts are spans of the answer: any bytes, nothing is copied or freed.
 * Threads: pure.
 */
#ifndef WARPGYM_GYM_ANSWER_PARTS_H
#define WARPGYM_GYM_ANSWER_PARTS_H

#include <stdbool.h>
#include <stddef.h>

struct span {
    const char *at;
    size_t count;
};

bool span_is_space(char byte);
/* Without white space at both ends. */
struct span span_trim(struct span text);
/* Takes the next line off *text, without its line feed; false: there is none. */
bool span_line(struct span *text, struct span *line);
bool span_begins(struct span text, const char *prefix);
bool span_begins_any_case(struct span text, const char *prefix);

struct dialect;

/* A language that is none of ours (NULL, too) has the dialect whose only label is its name. */
const struct dialect *dialect_of(const char *language);

enum dialect_rank { RANK_FOREIGN, RANK_NONE, RANK_NEAR, RANK_OWN };

/* How well a fence's label fits. */
enum dialect_rank dialect_rank(const struct dialect *dialect, const char *language,
                               struct span label);
/* Whether a line looks like the first one of a source. */
bool dialect_begins(const struct dialect *dialect, struct span line);
/* Whether there is what the judge will call. */
bool dialect_has_entry(const struct dialect *dialect, struct span code);

struct fenced {
    struct span body;
    bool complete;
};

/* The fenced block of `text` that is the source: one with an entry point before others, then the
 * one whose label fits best, then one that has an end, then the last. False: there is none. */
bool fence_choose(struct span text, const struct dialect *dialect, const char *language,
                  struct fenced *out);

#endif
