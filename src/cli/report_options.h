/* report_options: what a report is asked for, from the words of a command line. */
#pragma once

#include "base/paths.h"
#include "cli/options.h"
#include "gym/report/report.h"

/* The standard lists: KernelBench's speedups. */
#define REPORT_P "0.5,0.8,1,1.5,2"
#define REPORT_K "1,4,8"

/* "0.8,1,2": of fast_p and pass@k. ERR_INPUT names the option. */
NODISCARD int report_read_thresholds(const char *p, const char *k, struct report_options *options,
                                     struct err *err);

/* Names of requested problems, which options borrow. Zeroed; report_asked_deinit. */
struct report_asked {
    struct cli_words names;
    struct arena arena;
};
void report_asked_deinit(struct report_asked *asked);

/* --problems: a number, a file of names, or a directory as of report_ask_checkout. `text` NULL:
 * none. */
NODISCARD int report_read_problems(const char *text, struct report_asked *asked,
                                   struct report_options *options, struct err *err);
/* All problems of the levels that are reported on. */
NODISCARD int report_ask_checkout(const struct paths_list *search_paths, struct report_asked *asked,
                                  struct report_options *options, struct err *err);
