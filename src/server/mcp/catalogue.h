/* mcp_catalogue: catalogue.json as text: tools with their schemas, resource templates, prompts. */
#ifndef WARPGYM_SERVER_MCP_CATALOGUE_H
#define WARPGYM_SERVER_MCP_CATALOGUE_H

extern const char mcp_catalogue_json[];

#endif
