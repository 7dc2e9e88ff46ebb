/* lines: a file of lines, one after the other, each of bounded length. The file itself has no
 * bound.
 *
 * Threads: one at a time.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct lines;

/* A regular file, or anything else that can be read to its end. ERR_MISSING, ERR_INPUT (a
 * directory), ERR_IO. */
NODISCARD int lines_open(struct lines **out, const char *path, size_t max_bytes, struct err *err);
/* Takes ownership of the descriptor; errors call it `name`. */
struct lines *lines_open_fd(int fd, const char *name, size_t max_bytes);
struct lines_options {
    size_t max_bytes;             /* of a line */
    size_t before;                /* lines before the descriptor's position, for lines_number */
    bool borrowed;                /* lines_close leaves the descriptor open */
    const _Atomic int *cancelled; /* non-zero: ERR_CANCELLED; NULL: never */
};
struct lines *lines_open_with(int fd, const char *name, const struct lines_options *options);
void lines_close(struct lines *lines);

/* 1 and the next line, without its newline, NUL-terminated and valid until the next call; 0 at the
 * end. Skips blank lines. ERR_LIMIT names the line that is too long; the next call skips it. */
NODISCARD int lines_next(struct lines *lines, const char **text, size_t *count, struct err *err);
/* Number of the line returned last, from 1. */
size_t lines_number(const struct lines *lines);
/* False: the line returned last has no newline and ends the file. */
bool lines_is_whole(const struct lines *lines);
/* Bytes from where the descriptor was to the end of that line, its newline included. */
off_t lines_end(const struct lines *lines);
const char *lines_path(const struct lines *lines);
