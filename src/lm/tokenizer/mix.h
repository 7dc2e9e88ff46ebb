/* mix: hashes of words and pairs for the tables of this directory. The seed is drawn when a
 * tokenizer is opened: a file or a text that fills one slot of a table cannot be prepared.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Both halves of the product of two odd things: each bit of the result hangs on all bits. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)(a ^ 0x9E3779B97F4A7C15U) *
                                (b ^ 0xD6E8FEB86659FD93U);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t mix_bytes(uint64_t seed, const char *bytes, size_t count)
{
    uint64_t hash = mix(seed, count);
    uint64_t word = 0;
    for (; count >= sizeof word; bytes += sizeof word, count -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mix(hash ^ word, seed);
    }
    word = 0;
    for (size_t i = 0; i < count; i++)
        word = word << 8 | (uint8_t)bytes[i];
    return mix(hash ^ word, seed);
}
