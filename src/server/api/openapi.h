/* openapi: the description of our API, as OpenAPI 3.1.
 *
 * The route tables say which operations there are, with their names in path and query, their
 * bodies and whether they need a token. openapi.json says the rest: for each operation, by method
 * and pattern, its texts, its answers and the refusals that do not follow from its route; and the
 * components, among which the types of a verdict come from its table (judge/verdict_schema.h).
 * "enum" there may name a list of words of the source. */
#pragma once

#include "base/err.h"
#include "server/http/http.h"

/* Of the routes that openapi.json lists; `tables` as service_tables. ERR_INTERNAL: it lists one
 * that no table has. *out is the caller's. */
NODISCARD int openapi_describe(const struct http_route *const *tables, json_t **out,
                               struct err *err);
