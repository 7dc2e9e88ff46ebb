/* chat: conversations as the token text that Qwen's models were trained on (ChatML):
 *
 *   <|im_start|>system\nTEXT<|im_end|>\n<|im_start|>user\nTEXT<|im_end|>\n<|im_start|>assistant\n
 *
 * Qwen3's rules for thinking blocks are followed: an answer before the last question loses its
 * block; with thinking off the prompt ends in an empty one. Answers of tools lie in a user's turn,
 * consecutive ones in one. Untrusted texts are encoded without special tokens, so they cannot
 * forge a turn, and an answer is encoded separately from the text before it, as it came from the
 * model.
 */
#pragma once

#include "lm/tokenizer/tokenizer.h"

enum chat_style {
    CHAT_QWEN2,  /* Qwen2.5: a system text where none is given */
    CHAT_QWEN3,  /* thinking blocks */
    CHAT_PLAIN,  /* ChatML alone, for models of one's own */
    CHAT_QWEN1,  /* Qwen1.5 and Qwen2: another system text */
    CHAT_THINKER /* Qwen3's models that always think: the answer's block is opened for them */
};

struct chat_message {
    const char *role;      /* system, user, assistant, tool */
    const char *content;   /* of an assistant, with <think>…</think> before it or without */
    const char *reasoning; /* of an assistant: the block's text; NULL: it is in `content` */
};

struct chat_options {
    enum chat_style style;
    bool thinking; /* CHAT_QWEN3 */
    bool answer;   /* end with the opening of an assistant's turn */
};

/* Which style a model's directory asks for: by the marks of the chat template in
 * chat_template.jinja or tokenizer_config.json, else CHAT_PLAIN. */
NODISCARD int chat_style_of(const char *directory, enum chat_style *style, struct err *err);
/* By the text of such a template. */
enum chat_style chat_style_of_template(const char *text);

/* Appends the ids of a conversation. `mask`, where not NULL, gets one byte for each id: 1 where it
 * is part of an assistant's answer (its end token too), which is what a model is trained on. A
 * thinking block is part of the answer, except the empty one where thinking is off. */
NODISCARD int chat_encode(struct tokenizer *tokenizer, const struct chat_message *messages,
                          size_t count, const struct chat_options *options, struct tokens *out,
                          struct buf *mask, struct err *err);
/* The same as text, for people and tests. */
NODISCARD int chat_text(const struct chat_message *messages, size_t count,
                        const struct chat_options *options, struct buf *out, struct err *err);
/* The token that ends a turn; -1: the tokenizer has none. */
int32_t chat_end_token(const struct tokenizer *tokenizer);
