#include "server/mcp/catalogue.h"

/* clang-format off */
__asm__(".pushsection .rodata\n"
        ".global mcp_catalogue_json\n"
        "mcp_catalogue_json:\n"
        ".incbin \"src/server/mcp/catalogue.json\"\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */
