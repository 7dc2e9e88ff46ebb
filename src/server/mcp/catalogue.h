/* mcp_catalogue: catalogue.json as text: tools with their schemas, resource templates, prompts. */
#pragma once

extern const char mcp_catalogue_json[];
