/* search_paths: where a subcommand searches for problems: its --problems first, then the setting,
 * then our own. */
#pragma once

#include "base/buf.h"
#include "base/paths.h"
#include "base/settings.h"
#include "cli/options.h"

#define CLI_SEARCH_PATHS_BYTES ((size_t)65536)

/* Appends the first two to `joined` (empty) as the setting's "DIR:DIR", so that a run can resume
 * from any directory: absolute paths without duplicates. If `named` has any, directories of the
 * setting that do not exist are left out: they may have been moved. */
void cli_search_paths_save(const struct cli_words *named, const struct settings *settings,
                           struct buf *joined);
NODISCARD int cli_search_paths(const struct cli_words *named, const struct settings *settings,
                               struct paths_list *search_paths, struct err *err);
