/* openapi: the description of our own API (OpenAPI 3.1), from src/server/api/openapi.json. */
#ifndef WARPGYM_SERVER_API_OPENAPI_H
#define WARPGYM_SERVER_API_OPENAPI_H

extern const char openapi_json[]; /* NUL-terminated */

#endif
