#include "server/api/openapi.h"

/* clang-format off */
__asm__(".pushsection .rodata\n"
        ".global openapi_json\n"
        "openapi_json:\n"
        ".incbin \"src/server/api/openapi.json\"\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */
