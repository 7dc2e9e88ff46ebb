/* scratch: a directory of its own for each test, or for a group of them:
 *
 *   TEST_EACH(scratch_begin, NULL);
 *
 * It goes when the program ends; paths and contents are valid until then. A failure of theirs fails
 * the test. Threads: that of the test.
 */
#pragma once

#include <stddef.h>

int scratch_begin(void **state);

/* DIRECTORY/name; "" stands for the directory. */
const char *scratch_path(const char *name);
/* Directories above the file are made. */
void scratch_write(const char *name, const void *bytes, size_t count);
/* All of a file, with a NUL behind it that `count` (or NULL) leaves out. */
const char *scratch_read(const char *name, size_t *count);
