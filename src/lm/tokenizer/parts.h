/* parts: what a tokenizer is made of; for the files of lm/tokenizer alone. */
#pragma once

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/tokenizer/added.h"
#include "lm/tokenizer/bpe.h"
#include "lm/tokenizer/names.h"
#include "lm/tokenizer/normalize.h"
#include "lm/tokenizer/pattern.h"
#include "lm/tokenizer/tokenizer.h"

#include <pthread.h>

struct token {
    const char *bytes; /* what it decodes to */
    uint32_t count;
    bool known, added, special;
};

/* What becomes of the matches of a pattern and of the text between them. */
enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_CONTIGUOUS,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT
};

/* One step of the pre-tokenizer. */
struct split {
    struct pattern *pattern; /* NULL: none, pieces stay whole */
    enum split_behavior behavior;
    bool invert;       /* matches are what lies between them */
    bool prefix_space; /* each piece begins with one */
};

struct workspace;

struct tokenizer {
    struct arena arena; /* texts of tokens */
    struct token *tokens;
    size_t size;
    struct names vocab;       /* the model's tokens: bytes where byte_level, else text */
    struct names added_names; /* added tokens */
    struct bpe bpe;
    struct added raw,
        normalized; /* added tokens that are looked for before and behind the normaliser */
    struct normalizer normalizer;
    struct split splits[LIMIT_TOKENIZER_STEPS];
    size_t split_count;
    bool byte_level, ignore_merges, byte_fallback, fuse_unk;
    bool decodes; /* the file has a decoder that is known */
    int32_t unk;  /* -1: none */
    int32_t
        byte_ids[256]; /* byte_level: of each letter; byte_fallback: <0x00> to <0xFF>; -1: none */
    int32_t before[LIMIT_TOKENIZER_TEMPLATE], after[LIMIT_TOKENIZER_TEMPLATE];
    size_t before_count, after_count;
    pthread_mutex_t lock; /* of what follows */
    struct workspace *idle;
    size_t idle_count;
};

/* Fills a zeroed one from a document; on an error, too, tokenizer_close frees it. */
NODISCARD int tokenizer_read(struct tokenizer *tokenizer, const json_t *document, struct err *err);
NODISCARD int tokenizer_read_model(struct tokenizer *tokenizer, const json_t *document,
                                   struct err *err);
NODISCARD int tokenizer_read_splits(struct tokenizer *tokenizer, const json_t *document,
                                    struct err *err);

/* "type" is one of the part's texts that the table knows; read() gets the part. */
struct part_kind {
    const char *type;
    int (*read)(struct tokenizer *tokenizer, const json_t *part, struct err *err);
};
/* The document's part `key`; null is fine, and so is a Sequence of such, under the key `list`. */
NODISCARD int tokenizer_read_part(struct tokenizer *tokenizer, const json_t *document,
                                  const char *key, const char *list, const struct part_kind *kinds,
                                  size_t count, struct err *err);

void workspace_free_all(struct workspace *workspace);
