/* tokenizer: text to ids and back, as a `tokenizer.json` says: byte-level BPE of the GPT-2, Qwen
 * and Llama 3 families.
 *
 *   text ─► added and special tokens cut out ─► NFC (where the file asks)
 *        ─► pre-tokenizer pattern (PCRE2) ─► bytes as letters ─► merges by rank ─► ids
 *
 * Any bytes may be encoded. Where they are not UTF-8 the `tokenizers` library can't be asked; here
 * each bad byte is its own word, so that decode(encode(x)) = x for all bytes, where the file asks
 * for no normal form (then text comes back in that form), for no space before the text and for no
 * added token that swallows blanks.
 *
 * What a file asks for and this engine does not do is refused by name (docs/guide/lm.md).
 *
 * Threads: a tokenizer is read-only once it is open; caches of words wait behind a lock
 * of its own, and belong to one call at a time.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokenizer;

struct tokens { /* grows; zero to begin with, tokens_deinit at the end */
    int32_t *ids;
    size_t count, capacity;
};
NODISCARD int tokens_add(struct tokens *tokens, int32_t id, struct err *err);
void tokens_deinit(struct tokens *tokens);

/* A tokenizer.json, or a directory that holds one. */
NODISCARD int tokenizer_open(struct tokenizer **out, const char *path, struct err *err);
NODISCARD int tokenizer_parse(struct tokenizer **out, const char *name, const char *text,
                              size_t count, struct err *err);
void tokenizer_close(struct tokenizer *tokenizer);

/* Appends. With `special`, special tokens that stand in the text become their ids (a template's
 * text); without it they are ordinary text (what a user or a candidate wrote: it cannot forge the
 * end of a turn). What the file's post-processor puts before a text (and behind it, where
 * it does) is added with `begin`. On an error `out` is as it was. */
struct tokenizer_encoding {
    bool special, begin;
};
NODISCARD int tokenizer_encode(struct tokenizer *tokenizer, const char *text, size_t count,
                               const struct tokenizer_encoding *how, struct tokens *out,
                               struct err *err);
/* Appends the bytes of ids; special tokens are left out with `skip_special`. Ids that are not of
 * this tokenizer (a padded vocabulary) give nothing. */
NODISCARD int tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, size_t count,
                               bool skip_special, struct buf *out, struct err *err);
/* The bytes of one id; *count 0 where it has none. */
const char *tokenizer_bytes(const struct tokenizer *tokenizer, int32_t id, size_t *count);

/* One more than the highest id. */
size_t tokenizer_size(const struct tokenizer *tokenizer);
/* -1: no such token. The text is what the token decodes to (" a", not the file's letters). */
int32_t tokenizer_id(const struct tokenizer *tokenizer, const char *text);
bool tokenizer_is_special(const struct tokenizer *tokenizer, int32_t id);

/* Text that arrives id by id: gives only whole UTF-8 characters; what is incomplete waits. */
struct tokenizer_stream {
    char rest[4];
    size_t rest_count;
};
NODISCARD int tokenizer_stream_put(const struct tokenizer *tokenizer,
                                   struct tokenizer_stream *stream, int32_t id, bool skip_special,
                                   struct buf *out, struct err *err);
/* What still waits, as U+FFFD. */
NODISCARD int tokenizer_stream_end(struct tokenizer_stream *stream, struct buf *out,
                                   struct err *err);
