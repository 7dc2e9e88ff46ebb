/* library: a shared library that may be on this machine or not, loaded when it is wanted.
 *
 * Its functions land in a caller's struct of function pointers, named by a table:
 *
 *   static const struct library_function functions[] = {
 *       {"cuInit", offsetof(struct cuda, init), false}, …
 *   };
 *
 * Nothing of it is needed to build, and a machine without it is no error of the program's.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct library_function {
    const char *symbol;
    size_t offset; /* of the pointer in the table */
    bool optional; /* NULL where the library has no such function */
};

/* Tries `names` (file names or paths, NULL-terminated) in turn. ERR_MISSING: none is here;
 * ERR_UNSUPPORTED: it lacks a function that is needed. *handle is closed with library_close. */
NODISCARD int library_open(void **handle, const char *const *names,
                           const struct library_function *functions, size_t count, void *table,
                           struct err *err);
/* The same for functions that it may lack: those are NULL then. */
void library_find(void *handle, const struct library_function *functions, size_t count,
                  void *table);
void library_close(void **handle);
