/* staging: a directory that appears whole or not at all, in the place of an older one.
 *
 * It is made as PATH.building-XXXXXX and takes its place by one rename that exchanges the two, so
 * that whoever reads PATH sees the old or the new one, and a process that is killed leaves the old.
 * What killed ones left behind is removed by the next (each holds a lock on its directory).
 */
#ifndef WARPGYM_RETRIEVAL_STAGING_H
#define WARPGYM_RETRIEVAL_STAGING_H

#include "base/err.h"

struct staging {
    char *target; /* without a '/' at its end */
    char *path;   /* to write into */
    int fd;
};

NODISCARD int staging_begin(struct staging *staging, const char *target, struct err *err);
/* Puts it in its place, with all that it holds safe on the disk. */
NODISCARD int staging_finish(struct staging *staging, struct err *err);
/* Removes it, unless it was finished, and frees. */
void staging_end(struct staging *staging);

#endif
