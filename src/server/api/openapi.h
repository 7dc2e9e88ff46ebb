/* openapi: the description of our own API (OpenAPI 3.1), from src/server/api/openapi.json. */
#pragma once

extern const char openapi_json[]; /* NUL-terminated */
