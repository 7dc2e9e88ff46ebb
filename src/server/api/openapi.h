/* openapi: the description of our own API (OpenAPI 3.1): src/server/api/openapi.json with the types
 * of a verdict from its table (judge/verdict_schema.h) among its schemas. Threads: any. */
#pragma once

#include <jansson.h>

extern const char openapi_json[]; /* NUL-terminated; refers to Verdict and does not define it */

/* A new reference. */
json_t *openapi_document(void);
