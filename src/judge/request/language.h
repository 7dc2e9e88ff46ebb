/* language: what a candidate is written in, one row for each.
 *
 * A row says how a language is recognised, what it looks like in a model's answer, what its prompts
 * are made of, which problems it solves, how it is compiled and where it runs. All other code, from
 * the judge to the gym and the server, looks at the row, never at the name. So a new language is a
 * row in language.c, and a backend (open/native.h) if no existing one will do. Languages that
 * live outside of this source come from the configuration (external_language.h) and look the same.
 *
 * Rows are immutable. Threads: any.
 */
#pragma once

#include "base/word_table.h"
#include "compile/compile.h"
#include "problem/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define LANGUAGE_ENDINGS 8
#define LANGUAGE_WORDS 4

struct external;

/* What the first line of a source and its entry point look like. */
enum language_syntax { SYNTAX_ANY, SYNTAX_C, SYNTAX_CUDA, SYNTAX_PYTHON };

struct language {
    const char *name;  /* in settings, requests and verdicts: "cpp" */
    const char *title; /* in prose: "C++" */
    const char *file;  /* what a source is called that came without a name */
    /* A source is of this language if its file has one of these endings (those of `also` when it is
     * named, not when a directory is searched) and its text one of `markers`, where there are some;
     * or if its text has one of `decisive`, whatever its file is called; or if its file has no
     * ending, `shows` says so, and it has one of `markers` where there are some. */
    const char *endings[LANGUAGE_ENDINGS + 1];
    const char *also[LANGUAGE_WORDS + 1];
    const char *markers[LANGUAGE_WORDS + 1];
    const char *decisive[LANGUAGE_WORDS + 1];
    bool (*shows)(const char *text);
    /* Labels of fences: the one that answers are to have, all that are this language's, and those
     * that may hold it, too, each between blanks; in `near` the name of a language stands for all
     * of its labels. */
    const char *fence, *labels, *near;
    enum language_syntax syntax;
    /* The language whose prompts stand for those that this one has none of; NULL: none. */
    const char *prompts_of;
    enum problem_format format; /* of the problems that it solves */
    bool standard;              /* what such a problem is answered in unless a language is named */
    enum compile_kind compile;  /* of native ones */
    bool gpu;                   /* it is for a GPU, and elsewhere at most compiled */
    bool interpreted;           /* where there is no GPU: its answers count, its times do not */
    bool decoys;                /* its kernels can be made to have no effect: WIRE_ABLATE */
    const struct external *external; /* NULL: it is one of ours */
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
/* Ours, from 0 on; NULL behind the last one. */
const struct language *language_at(size_t index);
/* Likewise, with those of the configuration behind ours. */
const struct language *language_any(const struct languages *more, size_t index);
extern const struct word_table language_words; /* ours */
/* What problems of a format are answered in unless a language is named. */
const struct language *language_standard(enum problem_format format);
/* Whether an ending (".py") is any language's. */
bool language_owns(const struct languages *more, const char *ending);
/* ".c, .cpp, …": of candidates in any language. */
void language_endings(const struct languages *more, char *text, size_t text_bytes);
/* Whether a file's name has one of them. */
bool language_has_ending(const struct languages *more, const char *path);
/* "c, cpp, …": ours. */
void language_names(char *text, size_t text_bytes);
/* ["c", "cpp", …]; a new reference. */
json_t *language_names_json(void);
/* "C, C++ or CUDA": ours that solve problems of a format. */
void language_titles(enum problem_format format, char *text, size_t text_bytes);
/* The error for a name that is none of ours. Returns ERR_INPUT. */
int language_unknown(const char *name, struct err *err);
