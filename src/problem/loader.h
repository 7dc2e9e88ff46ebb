/* loader: a form that problems are written in, one row for each.
 *
 * A row says which files and directories are such problems, where they lie below a root of
 * problems and what they are called, and makes a struct problem of one. Problems of all forms are
 * then judged in one of two ways (enum problem_format). So a new form is a file like
 * loader_torch.c, and its row in loader.c.
 *
 * Rows are immutable. Threads: any.
 */
#pragma once

#include "problem/problem.h"

struct loader;

/* While a suite is listed (suite.c). Texts are the caller's until suite_close: make them in
 * `arena`. */
struct suite_listing {
    struct arena *arena;
    const struct loader *loader; /* that lists now */
    struct suite_entry *entries;
    size_t count, capacity;
};

/* A problem that was found. */
void suite_add(struct suite_listing *listing, const char *id, const char *path);
/* Calls `visit` with each visible name in a directory; one that is not there has none. */
void suite_each_name(struct suite_listing *listing, const char *directory,
                     void (*visit)(struct suite_listing *listing, const char *directory,
                                   const char *name));

struct loader {
    enum problem_format format; /* how its problems are judged */
    const char *what;           /* one of them, for people: "a .py module" */
    const char *below;          /* where they lie below a root, for people: "torch/NAME.py" */
    const char *ending;         /* of a file that is one, or that stands for one */
    /* Whether what lies there, if anything does, is for this loader. */
    bool (*recognises)(const char *path);
    /* Into a zeroed problem; `id` NULL: it follows from the path. On failure the caller frees the
     * arena. */
    int (*load)(struct problem *problem, const char *path, const char *id, struct err *err);
    /* All that lie below a root, by directory listings alone. */
    void (*list)(struct suite_listing *listing, const char *root);
    /* A path at which a problem of that id lies below a root, without a listing; the caller's;
     * NULL: only a listing can decide. */
    char *(*find)(const char *root, const char *id);
    /* Another name of the problem at `path` than its id; NULL: there is none. */
    bool (*is_called)(const char *path, const char *name);
    /* The order of two ids; NULL: as their letters are. */
    int (*compare)(const char *a, const char *b);
};

extern const struct loader native_loader, torch_loader;

/* All of them, in the order of a listing, and NULL. */
extern const struct loader *const problem_loaders[];

/* Of any form, from a directory or a file. `id` NULL: derived from the path. The caller frees it
 * with problem_deinit; on failure there is nothing to free. */
NODISCARD int problem_load(struct problem *problem, const char *path, const char *id,
                           struct err *err);
