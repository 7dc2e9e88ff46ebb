/* hash: SHA-256 for content identity (cache keys, problem and candidate hashes). */
#pragma once

#include <stddef.h>

#define HASH_HEX_BYTES 65 /* 64 digits and the NUL */

struct hash; /* one running digest; one thread at a time */

struct hash *hash_new(void);
void hash_update(struct hash *hash, const void *bytes, size_t count);
/* A string with its length before it, so that ("ab","c") and ("a","bc") differ. */
void hash_update_string(struct hash *hash, const char *text);
/* Writes the digest in lower-case hex and frees the running state. */
void hash_finish(struct hash *hash, char hex[HASH_HEX_BYTES]);

void hash_bytes(const void *bytes, size_t count, char hex[HASH_HEX_BYTES]);
