/* mcp_catalogue: catalogue.json, which lies in the program as it is: tools with their schemas,
 * templates of resources, prompts. */
#ifndef WARPGYM_SERVER_MCP_CATALOGUE_H
#define WARPGYM_SERVER_MCP_CATALOGUE_H

extern const char mcp_catalogue_json[];

#endif
