/* openai_request: a question as an endpoint wants it (POST /chat/completions). Pure. */
#ifndef WARPGYM_POLICY_OPENAI_REQUEST_H
#define WARPGYM_POLICY_OPENAI_REQUEST_H

#include "base/buf.h"
#include "policy/policy.h"

/* The setting policy.extra as an object, NULL where it is empty; a new reference. ERR_INPUT: it is
 * no object, or holds a key that is not for it to set. */
NODISCARD int openai_extra(const struct settings *settings, json_t **extra, struct err *err);

/* Appends the body to `out`. ERR_LIMIT: the conversation is above what `out` takes. */
NODISCARD int openai_body(const struct settings *settings, const char *model, const json_t *extra,
                          const struct policy_request *request, struct buf *out, struct err *err);

#endif
