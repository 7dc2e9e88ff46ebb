/* internal: the forms of corpora, a row for each: what corpus.c and its readers share.
 *
 * Ownership: the caller's storage. Threads: as corpus.h. Errors: as corpus_read.
 */
#pragma once

#include "problem/problem.h"
#include "retrieval/corpus.h"

#define FORM_FIELDS 4
#define FORM_LANGUAGE_BYTES 32 /* with its NUL */

struct corpus {
    const struct corpus_options *options;
    const struct corpus_form *form; /* requested by the options; NULL: any */
    const struct corpus_form *met;  /* of this file so far */
    struct problem *problems;       /* those that trajectories named */
    size_t problem_count;
    char problem[64]; /* of the current example */
};

/* One pass over a file or directory. */
struct reading {
    struct corpus *corpus;
    int (*visit)(void *context, const struct example *example);
    void *context;
    struct corpus_counts *counts;
};

struct corpus_form {
    const char *name;
    const char *fields[FORM_FIELDS + 1]; /* a line with all of these has this form */
    int (*line)(struct corpus *corpus, const json_t *line, struct example *example,
                enum corpus_fate *fate, struct err *err);
    /* Forms that are directories. */
    bool (*recognises)(const char *directory);
    int (*directory)(struct reading *reading, const char *path, struct err *err);
};

extern const struct corpus_form corpus_forms[];

int corpus_kernelbook(struct corpus *corpus, const json_t *line, struct example *example,
                      enum corpus_fate *fate, struct err *err);
int corpus_archive(struct corpus *corpus, const json_t *line, struct example *example,
                   enum corpus_fate *fate, struct err *err);
int corpus_pairs(struct corpus *corpus, const json_t *line, struct example *example,
                 enum corpus_fate *fate, struct err *err);
int corpus_trajectory(struct corpus *corpus, const json_t *line, struct example *example,
                      enum corpus_fate *fate, struct err *err);
bool corpus_is_problems(const char *directory);
int corpus_problems(struct reading *reading, const char *path, struct err *err);
bool corpus_is_folders(const char *directory);
int corpus_folders(struct reading *reading, const char *path, struct err *err);

/* Counts one example, and visits it if it is within the bounds. */
int reading_take(struct reading *reading, const struct example *example);
/* Counts and records a line or file that is not of the form. */
void reading_complain(struct reading *reading, const struct err *err);
