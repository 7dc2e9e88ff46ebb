/* corpus: sources of examples: pairs of a reference and a faster program that computes the same.
 *
 *   name          what it is                                  a line or file of it has
 *   kernelbook    KernelBook, exported as JSONL               python_code, triton_code
 *   archive       AI CUDA Engineer archive, likewise          PyTorch_Code_Module, CUDA_Code
 *   pairs         this project's form, and search output      reference, solution, language
 *   trajectories  docs/reference/trajectories.md: best turns  episode, turns
 *   problems      a directory of problems with tests/fast.*   problem.yaml or *.py in the suite
 *   directory     NAME/reference.* and other sources          a folder with such a file
 *
 * A JSONL file has one form, set by its first valid line. A directory of no other form is searched
 * for *.jsonl, in the order of their names. Bad lines are counted, and the first ones kept for
 * people; reading continues. Skipped: texts that are empty or longer than LIMIT_EXAMPLE_*, and
 * solutions that are known to be wrong.
 *
 * Ownership: an example's texts are the reader's, until the visitor returns. Threads: one corpus
 * belongs to one thread at a time.
 */
#pragma once

#include "base/err.h"
#include "base/paths.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORPUS_COMPLAINTS 3

struct example {
    const char *name;     /* "" if unnamed; so are the other texts */
    const char *summary;  /* what it computes, in words */
    const char *source;   /* "kernelbook", … */
    const char *language; /* of the solution: a name of language.h */
    const char *category;
    const char *problem; /* id of the problem that it solves */
    const char *reference, *solution;
    double speedup; /* 0: unknown */
};

/* What became of a candidate example. */
enum corpus_fate {
    CORPUS_TAKEN,
    CORPUS_WRONG,
    CORPUS_EMPTY,
    CORPUS_LARGE,
    CORPUS_UNSOLVED,
    CORPUS_FOREIGN,
    CORPUS_FATES
};

struct corpus_counts {
    uint64_t fates[CORPUS_FATES];
    uint64_t bad; /* lines and files that do not have the form */
    char complaints[CORPUS_COMPLAINTS][ERR_TEXT_MAX];
};

/* "taken", "incorrect", … */
const char *corpus_fate_name(enum corpus_fate fate);

struct corpus_options {
    const char *format; /* NULL: detected */
    bool include_incorrect;
    uint32_t levels;                       /* of the archive: bit N for level N; 0: all */
    const struct paths_list *search_paths; /* of problems, for the references of trajectories */
    const _Atomic int *cancelled;          /* may be NULL */
};

struct corpus;

/* ERR_INPUT: an unknown format, with the nearest name. `options` must outlive it. */
NODISCARD int corpus_open(struct corpus **out, const struct corpus_options *options,
                          struct err *err);
void corpus_close(struct corpus *corpus);

/* Visits all examples of a file or directory. A non-zero return value of `visit` stops the reading.
 * ERR_MISSING, ERR_INPUT (unknown form), ERR_IO, ERR_CANCELLED, or the visitor's value. */
NODISCARD int corpus_read(struct corpus *corpus, const char *path,
                          int (*visit)(void *context, const struct example *example), void *context,
                          struct corpus_counts *counts, struct err *err);

/* Reads one line: an example, or its fate. ERR_INPUT: the line is bad. Texts are the line's. */
NODISCARD int corpus_read_line(struct corpus *corpus, const json_t *line, struct example *example,
                               enum corpus_fate *fate, struct err *err);
