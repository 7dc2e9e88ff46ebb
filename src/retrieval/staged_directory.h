/* staged_directory: a directory that appears complete or not at all, replacing an older one.
 *
 * It is created as PATH.building-XXXXXX; one rename exchanges the two, so that readers of PATH see
 * the old or the new one, and a killed process leaves the old. Leftovers of killed processes are
 * removed by the next begin (each process holds a lock on its directory).
 *
 * Ownership: the caller's storage. Threads: one at a time. Errors: ERR_IO, ERR_LIMIT (disk full).
 */
#pragma once

#include "base/err.h"

struct staged_directory {
    char *target; /* without a trailing '/' */
    char *path;   /* to write into */
    int fd;
};

NODISCARD int staged_directory_begin(struct staged_directory *staging, const char *target,
                                     struct err *err);
/* Renames it into place, with all of its files on disk. */
NODISCARD int staged_directory_commit(struct staged_directory *staging, struct err *err);
/* Removes it unless it was committed, and frees. */
void staged_directory_deinit(struct staged_directory *staging);
