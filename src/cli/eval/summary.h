/* eval_summary: fast_p, pass@k and the page of a set of answers, from the file of verdicts. */
#pragma once

#include "base/paths.h"

#include <stdbool.h>

struct eval_summary {
    const char *path; /* of the verdicts */
    const char *name; /* of the answers, for people */
    const char *html; /* NULL: no page */
    bool table;       /* printed on standard output */
    const struct paths_list *search_paths;
};

NODISCARD int eval_summary(const struct eval_summary *summary, struct err *err);
