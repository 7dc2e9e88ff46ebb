#include "server/openapi.h"

/* clang-format off */
__asm__(".pushsection .rodata\n"
        ".global openapi_json\n"
        "openapi_json:\n"
        ".incbin \"src/server/openapi.json\"\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */
