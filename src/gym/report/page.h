/* report_page: the parts of report_html, each appended to the page. Threads: pure but for
 * page_episodes.
 */
#pragma once

#include "gym/report/report.h"

/* assets.c: report/page.html, sections.html, page.css, page.js; NUL-terminated. */
extern const char report_page_html[], report_page_sections[], report_page_css[], report_page_js[];

/* html.c: the runs' names, and what was read of each. */
void page_runs(const struct report *report, struct buf *out);

/* chart.c */
void page_charts(const struct report *report, struct buf *out);
/* tables.c */
void page_tiles(const struct report *report, struct buf *out);
void page_figures(const struct report *report, struct buf *out);
/* The same for some measures, by their indices. */
void page_some_figures(const struct report *report, const size_t *places, size_t count,
                       struct buf *out);
void page_turns(const struct report *report, struct buf *out);
void page_groups(const struct report *report, struct buf *out);
/* problems.c */
void page_problems(const struct report *report, struct buf *out);
/* episodes.c: reads the files again. */
NODISCARD int page_episodes(const struct report *report, struct buf *out, struct err *err);
