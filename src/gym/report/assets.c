#include "gym/report/page.h"

/* clang-format off */
#define ASSET(name, file)                          \
    __asm__(".pushsection .rodata\n"               \
            ".global " name "\n"                   \
            name ":\n"                             \
            ".incbin \"src/gym/report/page/" file "\"\n" \
            ".byte 0\n"                            \
            ".popsection\n")
ASSET("report_page_html", "page.html");
ASSET("report_page_sections", "sections.html");
ASSET("report_page_css", "page.css");
ASSET("report_page_js", "page.js");
/* clang-format on */
