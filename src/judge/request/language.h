/* language: what a candidate is written in, one row for each.
 *
 * A row says how a language is recognised, which problems it solves, where it runs, and which
 * function opens the two children for a candidate of it. Everything else in the judge looks at the
 * row, never at the name. So a new language is a row in language.c, and a file with its function if
 * no existing one will do. Languages that live outside of this source come from the configuration
 * (external_language.h) and look the same.
 *
 * Rows are immutable. Threads: any.
 */
#pragma once

#include "problem/problem.h"

#include <stdbool.h>
#include <stddef.h>

#define LANGUAGE_ENDINGS 8
#define LANGUAGE_MARKERS 4

struct session;
struct external;

struct language {
    const char *name;
    const char *family; /* what messages call such a source: "Python" */
    const char *file;   /* what a source is called that came without a name */
    /* A source is of this language when its file has one of these endings and its text one of these
     * markers; where a row has none of either, all do. */
    const char *endings[LANGUAGE_ENDINGS + 1];
    const char *markers[LANGUAGE_MARKERS + 1];
    enum problem_format format; /* of the problems that it solves */
    bool gpu;                   /* it is for a GPU, and elsewhere at most compiled */
    bool interpreted;           /* where there is no GPU: its answers count, its times do not */
    bool decoys;                /* its kernels can be made to have no effect: WIRE_ABLATE */
    int (*open)(struct session *session); /* as native_open; 0 or -1 (the verdict says why) */
    const struct external *external;      /* NULL: it is one of ours */
};

/* Those of the configuration. */
struct languages {
    const struct language *rows;
    size_t count;
};

/* The language of a source, by its file's name and its text: of the configuration's where one has
 * that ending, else ours. There always is one. `more` may be NULL. */
const struct language *language_of(const struct languages *more, const char *path,
                                   const char *text);
/* The ending of a file's name (".txt") that is none of its language's, `row`: it fell to that one
 * because no other wanted it. NULL: all is well, as it is with a name that has no ending. */
const char *language_foreign_ending(const struct language *row, const char *path);
/* One of ours by its name; NULL: there is none. */
const struct language *language_named(const char *name);
/* Whether an ending (".py") is one of ours'. */
bool language_owns(const char *ending);
/* Whether a file's name ends as a candidate's does as a rule (`file`), in any language. */
bool language_has_ending(const struct languages *more, const char *path);
/* "c, cuda, …": ours. */
void language_names(char *text, size_t text_bytes);
