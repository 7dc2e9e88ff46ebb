/* prompt_set: what prompts_open has read, for prompt.c and try.c.
 *
 * Ownership: everything lives in the arena. Threads: immutable after prompts_open and
 * prompts_withhold.
 */
#pragma once

#include "base/buf.h"
#include "base/mem.h"
#include "gym/prompt/prompt.h"

#define PROMPT_EXAMPLES 8 /* worked ones of a language */
#define PROMPT_KINDS 64   /* styles, and languages */
#define PROMPT_NAMES 16   /* of one list in style.json */

/* A file of a directory of prompts. Of two with the same name the first one counts. */
struct prompt_file {
    const char *name;   /* "kevin/first.txt" */
    const char *called; /* in errors: the name of a built-in file, the path of a user's */
    const char *text;
    size_t bytes;
    bool own;      /* built in */
    bool replaces; /* a user's, which replaces a built-in one */
};

struct prompt_names {
    const char *items[PROMPT_NAMES];
    size_t count;
};

/* prompts/STYLE/style.json */
struct prompt_style {
    const char *name;
    bool last_only;       /* "history": "last": each turn is rebuilt with the last attempt only */
    int64_t recent_turns; /* that are shown; 0: all */
    int64_t shots;        /* minimum of worked examples */
    struct prompt_names verbatim;  /* messages whose surrounding white space stays: "first" */
    struct prompt_names languages; /* none: all */
};

struct prompt_example {
    const char *problem, *reference, *solution;
};

/* A problem of which no example is shown. */
struct prompt_withheld {
    const char *id, *reference;
};

/* A row of language.h, or prompts/LANGUAGE/language.json. */
struct prompt_language {
    const char *name, *title; /* "cuda", "CUDA" */
    const char *fence;        /* label of its Markdown fence */
    bool native;              /* the format of problems that it solves */
    struct prompt_example examples[PROMPT_EXAMPLES];
    size_t example_count;
};

struct prompts {
    struct arena arena;
    struct prompt_file *files;
    size_t file_count;
    struct prompt_style styles[PROMPT_KINDS];
    struct prompt_language languages[PROMPT_KINDS];
    size_t style_count, language_count;
    struct prompt_withheld *withheld;
    size_t withheld_count;
};

/* NULL: none. */
const struct prompt_file *prompt_file_find(const struct prompts *prompts, const char *name);
const struct prompt_style *prompt_style_find(const struct prompts *prompts, const char *name);
const struct prompt_language *prompt_language_find(const struct prompts *prompts, const char *name);
bool prompt_names_have(const struct prompt_names *names, const char *name);
/* Whether it has prompts for the language. */
bool prompt_style_has(const struct prompt_style *style, const char *language);

/* Appends the template `name` ("style/first", "parts/answer") filled with `values`; "style/" and
 * "language/" stand for these two, also in includes. */
NODISCARD int prompt_render(const struct prompts *prompts, const struct prompt_style *style,
                            const struct prompt_language *language, const char *name,
                            const json_t *values, struct buf *out, struct err *err);
