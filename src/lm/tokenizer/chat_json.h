/* chat_json: the messages of a conversation as every OpenAI-compatible client and data set writes
 * them.
 *
 *   [{"role": "user", "content": "…" or [{"type": "text", "text": "…"}, …]}, …]
 *
 * `developer` is taken for `system`; an assistant's `reasoning_content` (or `reasoning`) is its
 * thinking block. What a text model cannot take (pictures, calls of tools) is refused by name;
 * other keys are left alone.
 */
#pragma once

#include "base/json.h"
#include "base/mem.h"
#include "lm/tokenizer/chat.h"

/* *messages lie in the arena; their texts, too, or in `list`. Errors begin with messages[INDEX]. */
NODISCARD int chat_json_read(const json_t *list, struct arena *arena,
                             struct chat_message **messages, size_t *count, struct err *err);
