/* suite: finding problems by name.
 *
 * A root is a directory of problems. Found by the loaders (loader.h), at these places below it:
 *   [native/]NAME/problem.yaml        native, id NAME
 *   torch/NAME.py                     torch, id torch/NAME
 *   [KernelBench/]levelN/ID_Name.py   a KernelBench checkout as it is: id levelN/ID; levelN/ID_Name
 *                                     finds it too
 * The bare file name of a module, with or without .py, finds it where no id is called so. Several
 * search paths are searched in order; the first match wins.
 */
#pragma once

#include "base/err.h"
#include "base/paths.h"
#include "problem/problem.h"

struct loader;

struct suite_entry {
    const char *id;
    const char *path; /* of the directory (native) or the module (torch) */
    enum problem_format format;
    const struct loader *loader; /* that found it: loader.h */
};

struct suite {
    struct arena arena;
    struct suite_entry *entries; /* sorted: native by name, then torch, then level, number */
    size_t count;
};

/* Only directory listings are read, no problem is parsed. A root that cannot be read, or holds no
 * problem, is an error that names it. */
NODISCARD int suite_open(struct suite *suite, const struct paths_list *search_paths,
                         struct err *err);
void suite_close(struct suite *suite);

/* NULL when there is none. */
const struct suite_entry *suite_find(const struct suite *suite, const char *id);

/* Whether `what` is a path of a problem: it holds a '/' or ends in .py or .yaml, and exists. */
bool suite_is_path(const char *what);
/* `what` is an id, or a path to a problem directory or module. Unknown: ERR_MISSING with the
 * nearest id offered. Opens no more than it must: a path, a native id or torch/NAME lists no root.
 */
NODISCARD int suite_load(const struct paths_list *search_paths, const char *what,
                         struct problem *problem, struct err *err);
/* An id only, below the search paths: for untrusted requests. A path is ERR_MISSING. */
NODISCARD int suite_load_id(const struct paths_list *search_paths, const char *id,
                            struct problem *problem, struct err *err);
