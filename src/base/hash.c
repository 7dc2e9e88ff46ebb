#include "base/hash.h"

#include "base/mem.h"

#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hash {
    EVP_MD_CTX *context;
};

struct hash *hash_new(void)
{
    struct hash *hash = mem_alloc(sizeof *hash);
    hash->context = EVP_MD_CTX_new();
    if (!hash->context || EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1)
        abort();
    return hash;
}

void hash_update(struct hash *hash, const void *bytes, size_t count)
{
    if (EVP_DigestUpdate(hash->context, bytes, count) != 1)
        abort();
}

void hash_update_string(struct hash *hash, const char *text)
{
    uint64_t length = strlen(text);
    hash_update(hash, &length, sizeof length);
    hash_update(hash, text, length);
}

void hash_finish(struct hash *hash, char hex[HASH_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[32];
    if (EVP_DigestFinal_ex(hash->context, digest, NULL) != 1)
        abort();
    for (size_t i = 0; i < sizeof digest; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[64] = '\0';
    EVP_MD_CTX_free(hash->context);
    mem_free(hash);
}

void hash_bytes(const void *bytes, size_t count, char hex[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    hash_update(hash, bytes, count);
    hash_finish(hash, hex);
}
