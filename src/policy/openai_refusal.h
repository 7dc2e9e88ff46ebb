/* openai_refusal: turns an endpoint's error response into an error.
 *
 * Its message is searched in the common shapes ({"error": {"message"}}, {"error": text},
 * {"detail"}, {"message"}, a list with one of these, plain text) and becomes the text of the error:
 * one line, without control characters, and with the token redacted if the endpoint echoes it.
 * Threads: pure.
 */
#pragma once

#include "base/err.h"
#include "policy/retry.h"

#include <stddef.h>

struct openai_refusal {
    const char *url, *token; /* token: "" if there is none */
    int status;
    const char *body;
    size_t bytes;
    /* Advice for a 401 or 403, and for a 404, whose messages say little; NULL: that of an OpenAI
     * endpoint. */
    const char *token_hint, *missing_hint;
};

/* ERR_INPUT for permanent errors, ERR_IO for 408, 409, 425, 429 and 5xx, ERR_PROTOCOL for a
 * redirect. *kind says whether a retry may help. */
int openai_refusal_error(const struct openai_refusal *refusal, enum retry_kind *kind,
                         struct err *err);

/* Replaces every `token` in `text` by "[token]". The caller's (mem_free). A token of less than
 * OPENAI_TOKEN_MIN bytes is no secret ("none", "x"), and stays. */
#define OPENAI_TOKEN_MIN 6
char *openai_redact(const char *text, const char *token);
