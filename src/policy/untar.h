/* untar: unpacks a tar archive, plain or compressed with gzip, as its bytes arrive.
 *
 * Only regular files are unpacked, each under the last part of its name into one directory, which
 * holds none of them yet; directories and metadata are skipped. Archives are untrusted: links,
 * devices, two files of one name, names that begin with a dot, and whatever exceeds the bounds are
 * refused. Format: POSIX ustar (pax(1)), RFC 1952.
 *
 *   untar_open ─► untar_write … ─► untar_close
 *
 * Ownership: untar_close frees it. Threads: one at a time. Errors: ERR_INPUT (the archive),
 * ERR_LIMIT, ERR_IO (a full disk, say). Files that were written stay: the caller removes the
 * directory.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct untar;

struct untar_options {
    const char *directory; /* exists */
    uint64_t max_bytes;    /* of all files together */
    uint64_t max_files;
};

NODISCARD int untar_open(struct untar **out, const struct untar_options *options, struct err *err);
NODISCARD int untar_write(struct untar *untar, const void *bytes, size_t count, struct err *err);
/* `result` as so far; 0: an archive that ends too early is ERR_INPUT. NULL is fine. */
NODISCARD int untar_close(struct untar *untar, int result, struct err *err);
