/* learn_internal: what the steps of learning a BPE hand to each other.
 *
 *   texts ─► words, each with how often it comes ─► merges and tokens ─► files
 *
 * Ids here: the 256 bytes in the order of their letters, then tokens in the order of their making.
 */
#pragma once

#include "base/mem.h"
#include "lm/tokenizer/learn.h"
#include "lm/tokenizer/names.h"
#include "lm/tokenizer/pattern.h"

#include <stdbool.h>

#define LEARN_BYTES 256
/* Qwen's: contractions, words, single digits, punctuation, line ends, blanks. */
#define LEARN_PATTERN                                                                              \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+"      \
    "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* Byte strings, each once, numbered in the order of their coming. */
struct learn_string {
    const char *bytes;
    size_t count;
};
struct learn_strings {
    struct learn_string *items;
    size_t count, capacity;
    struct names index;
    struct arena arena;
};
/* The string's index; a copy is kept where it is new. */
size_t learn_strings_add(struct learn_strings *strings, const char *bytes, size_t count);
void learn_strings_deinit(struct learn_strings *strings);

struct learn_words {
    struct learn_strings strings;
    uint64_t *times; /* [strings.capacity] */
    struct pattern *pattern;
    struct pattern_search *search;
};
NODISCARD int learn_words_init(struct learn_words *words, struct err *err);
NODISCARD int learn_words_add(struct learn_words *words, const char *text, size_t count,
                              struct err *err);
void learn_words_deinit(struct learn_words *words);

struct learn_merge {
    uint32_t left, right;
};
struct learned {
    struct learn_strings tokens;
    struct learn_merge *merges;
    size_t merge_count;
};
/* Until there are `vocab` tokens, or no pair comes `least` times. */
void learn_merges(struct learned *learned, const struct learn_words *words, size_t vocab,
                  uint64_t least);
void learned_deinit(struct learned *learned);

/* The byte of one of the first ids. */
unsigned char learn_byte(unsigned id);

NODISCARD int learn_write(const char *directory, const struct learned *learned,
                          const char *const *special, struct err *err);
