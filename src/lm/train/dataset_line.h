/* dataset_line: one example, from its JSON to ids and marks. */
#pragma once

#include "base/json.h"
#include "base/mem.h"
#include "lm/train/dataset.h"

enum dataset_kind { DATASET_MESSAGES, DATASET_COMPLETION, DATASET_TEXT };

/* Texts belong to the JSON object; messages to the arena of the call. */
struct dataset_line {
    enum dataset_kind kind;
    struct chat_message *messages;
    size_t message_count;
    const char *prompt;
    const char *text; /* or the completion */
};
NODISCARD int dataset_line_read(const json_t *object, struct arena *arena,
                                struct dataset_line *line, struct err *err);

/* Appends its ids, and to `mask` one byte for each: 1 where the id is to be learned. */
NODISCARD int dataset_line_encode(const struct dataset_line *line, struct tokenizer *tokenizer,
                                  const struct dataset_options *options, struct tokens *out,
                                  struct buf *mask, struct err *err);
