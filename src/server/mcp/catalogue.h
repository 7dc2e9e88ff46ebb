/* mcp_catalogue: catalogue.json as text: tools with their schemas (but for the names of languages,
 * which mcp_gym_open adds), resource templates, prompts. */
#pragma once

extern const char mcp_catalogue_json[];
