#include "gym/report/page.h"

#include "base/embed.h"

EMBED_TEXT(report_page_html, "src/gym/report/page/page.html");
EMBED_TEXT(report_page_sections, "src/gym/report/page/sections.html");
EMBED_TEXT(report_page_css, "src/gym/report/page/page.css");
EMBED_TEXT(report_page_js, "src/gym/report/page/page.js");
