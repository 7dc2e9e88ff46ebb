/* openai_request: the body of a chat completion request (POST /chat/completions). Pure. */
#pragma once

#include "base/buf.h"
#include "policy/policy.h"

/* The setting policy.extra as an object, NULL if it is empty; a new reference. ERR_INPUT: it is not
 * an object, or holds a reserved key. */
NODISCARD int openai_extra(const char *text, json_t **extra, struct err *err);

/* Appends the body to `out`. ERR_LIMIT: the conversation exceeds the limit of `out`. */
NODISCARD int openai_body(const struct settings *settings, const char *model, const json_t *extra,
                          const struct policy_request *request, struct buf *out, struct err *err);
