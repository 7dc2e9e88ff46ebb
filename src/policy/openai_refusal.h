/* openai_refusal: what an endpoint says when it does not answer.
 *
 * Its own message is looked for in the shapes that are about ({"error": {"message"}}, {"error":
 * text}, {"detail"}, {"message"}, a list with one of these, plain text) and becomes the sentence of
 * the error, on one line, without control characters, and without the token, should the endpoint
 * have repeated it. Threads: pure.
 */
#ifndef WARPGYM_POLICY_OPENAI_REFUSAL_H
#define WARPGYM_POLICY_OPENAI_REFUSAL_H

#include "base/err.h"
#include "policy/retry.h"

#include <stddef.h>

struct openai_refusal {
    const char *url, *token; /* token: "" where there is none */
    int status;
    const char *body;
    size_t bytes;
    /* What to do about a 401 or 403, and a 404, whose words say little; NULL: as of an OpenAI
     * endpoint. */
    const char *token_hint, *missing_hint;
};

/* ERR_INPUT for what will not get better, ERR_IO for 408, 409, 425, 429 and 5xx, ERR_PROTOCOL for
 * a redirect. *kind says whether asking again may help. */
int openai_refuse(const struct openai_refusal *refusal, enum retry_kind *kind, struct err *err);

/* Every `token` in `text` becomes "[token]". The caller's (mem_free). A token of less than
 * OPENAI_TOKEN_MIN bytes is no secret ("none", "x"), and stays. */
#define OPENAI_TOKEN_MIN 6
char *openai_redact(const char *text, const char *token);

#endif
