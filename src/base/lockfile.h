/* lockfile: one process at a time, and which one it is.
 *
 * A record lock of fcntl(2): it belongs to one process and ends with it, so a child that outlives
 * its parent holds no lock. The kernel names the holder; a pid written into a file could belong to
 * another process by now.
 *
 * The lock also ends when its process closes any descriptor of the file, so the holder must not
 * call lockfile_holder.
 */
#pragma once

#include "base/err.h"

#include <sys/types.h>

/* Creates the file if necessary; close(*fd) releases the lock. ERR_LIMIT: another process holds it
 * (the text names that process where the kernel does). */
NODISCARD int lockfile_take(const char *path, int *fd, struct err *err);

#define LOCKFILE_NONE 0
#define LOCKFILE_UNKNOWN (-1) /* in another container, or on another machine */

/* The process that holds the lock and, as far as /proc shows, has the file open; or one of the
 * above. */
pid_t lockfile_holder(const char *path);
