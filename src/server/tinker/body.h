/* body: what handlers read from a request's JSON. Where something is missing, the response is the
 * refusal. Ownership: what is returned is the request's.
 */
#pragma once

#include "base/json.h"
#include "server/http/http.h"

/* An object; NULL: refused. */
json_t *tinker_body(struct http_request *request, struct http_response *response);
/* A text that is a plain word (names.h); NULL: refused. */
const char *tinker_word(const json_t *body, const char *key, struct http_response *response);
/* seq_id and its like: -1 where there is none. */
int64_t tinker_number(const json_t *body, const char *key);
