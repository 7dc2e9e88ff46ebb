/* learn: a small byte-level BPE from a corpus, written as a tokenizer.json that this engine and the
 * `tokenizers` library read alike (tokenizer_config.json with a ChatML template beside it).
 *
 * The most frequent pair is merged first; equal ones in the order of their ids, so that a corpus
 * gives one tokenizer. Where the corpus has no more pairs the vocabulary ends below the wanted
 * size.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct learn_options {
    size_t vocab;               /* wanted size, special tokens and 256 bytes included */
    uint64_t least;             /* a pair rarer than this is not merged */
    const char *const *special; /* NULL-ended; NULL: <|endoftext|>, <|im_start|>, <|im_end|> */
};

/* `texts` are the corpus, `counts` their lengths in bytes. Writes into DIRECTORY. */
NODISCARD int tokenizer_learn(const char *directory, const char *const *texts, const size_t *counts,
                              size_t count, const struct learn_options *options, struct err *err);
