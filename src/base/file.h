/* file: whole files in and out, directories, anonymous memory.
 *
 * Reads are bounded; writes are atomic (a temporary file in the same directory, then rename), so a
 * reader sees the old or the new content and a full disk leaves the old one. Errors name the path.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads all of a regular file of at most max_bytes. *bytes is NUL-terminated (not counted) and the
 * caller's (mem_free). ERR_MISSING, ERR_LIMIT, ERR_INPUT (a directory, say) or ERR_IO. */
NODISCARD int file_read(const char *path, size_t max_bytes, char **bytes, size_t *count,
                        struct err *err);
NODISCARD int file_read_fd(int fd, const char *name, size_t max_bytes, char **bytes, size_t *count,
                           struct err *err);

/* As much of it as there is room for, with a NUL; "" where it cannot be read. For files that the
 * kernel makes up. */
void file_read_text(const char *path, char *text, size_t text_bytes);

/* A file that replaces `path` once it is complete. */
struct file_new {
    const char *path; /* borrowed */
    char *temporary;
    int fd; /* what is written to it is the file's */
};
NODISCARD int file_new_open(struct file_new *file, const char *path, struct err *err);
/* `result` 0: renames it to `path`; else removes it and returns `result`. */
NODISCARD int file_new_end(struct file_new *file, int result, mode_t mode, struct err *err);
NODISCARD int file_write_atomic(const char *path, const void *bytes, size_t count, mode_t mode,
                                struct err *err);
/* All of the bytes, or an error; retries short writes. */
NODISCARD int file_write_fd(int fd, const char *name, const void *bytes, size_t count,
                            struct err *err);

/* As mkdir -p. */
NODISCARD int file_make_directories(const char *path, mode_t mode, struct err *err);
/* Removes a directory and all in it, never following links; best effort. */
void file_remove_tree(const char *path);
/* What the files below it take of the disk, in bytes. */
uint64_t file_tree_bytes(const char *path);

/* `path` without slashes at its end; the caller's (mem_free). */
char *file_plain(const char *path);
/* The directory that `path` lies in, by its name alone; the caller's (mem_free). */
char *file_parent(const char *path);
/* The last component of a path, within it. */
const char *file_basename(const char *path);
/* `path` relative to `directory`; the caller's (mem_free). */
char *file_from(const char *directory, const char *path);

/* fsync of a directory's entries; of all its files as well; of the directory that holds `path`.
 * File systems without fsync on directories (EINVAL) are skipped. */
NODISCARD int file_sync_directory(const char *path, struct err *err);
NODISCARD int file_sync_files(const char *path, struct err *err);
NODISCARD int file_sync_parent(const char *path, struct err *err);

bool file_exists(const char *path);
bool file_is_directory(const char *path);
/* Both are one regular file, whatever the paths say. */
bool file_same(const char *path, const char *other);

/* 0, or why `bytes` is not a source text (empty, a NUL byte, not UTF-8), with its position. */
NODISCARD int file_check_text(const char *name, const char *bytes, size_t count, struct err *err);

/* Anonymous memory of a fixed size, sealed against shrinking and growing so that no holder can make
 * another's mapping fault. Returns a descriptor (close-on-exec) or a negative code. */
NODISCARD int file_memory(const char *name, size_t size_bytes, struct err *err);
/* The same, filled with `bytes` and sealed against writing as well. */
NODISCARD int file_memory_from(const char *name, const void *bytes, size_t count, struct err *err);
/* The same, filled by `fill`, which writes `count` bytes and returns 0 or a negative code. */
typedef int file_filler(const void *context, void *into, size_t count, struct err *err);
NODISCARD int file_memory_filled(const char *name, size_t count, file_filler *fill,
                                 const void *context, struct err *err);
