/* vectors: the outcomes in tests/server/vectors. A file with "like" holds what differs from that
 * file: objects are merged, all else is replaced. */
#pragma once

#include <jansson.h>

#define VECTORS "tests/server/vectors"

/* By the name of its file, without .json; the caller's. NULL, with a line on standard error: it
 * cannot be read. */
json_t *vector_load(const char *name);
