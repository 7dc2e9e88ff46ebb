/* lockfile: one process at a time, and which one it is.
 *
 * A record lock of fcntl(2): of this process alone and gone with it, so that no child that outlives
 * it keeps others out. The kernel names its holder; nobody has to believe a number in a file, which
 * may by now be some other process's.
 *
 * Such a lock is gone, too, when its process closes any descriptor of the file: who holds one must
 * not ask for its holder.
 */
#ifndef WARPGYM_BASE_LOCKFILE_H
#define WARPGYM_BASE_LOCKFILE_H

#include "base/err.h"

#include <sys/types.h>

/* Makes the file where there is none; close(*fd) gives it back. ERR_LIMIT: another process has it
 * (the text names it, where it can be named). */
NODISCARD int lockfile_take(const char *path, int *fd, struct err *err);

#define LOCKFILE_NONE 0
#define LOCKFILE_UNKNOWN (-1) /* in another container, or on another machine */

/* The process that holds it, and has the file open as far as /proc shows; or one of the above. */
pid_t lockfile_holder(const char *path);

#endif
