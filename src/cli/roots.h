/* roots: where a subcommand looks for problems: its own --problems first, then the setting, then
 * the ones that come along. */
#ifndef WARPGYM_CLI_ROOTS_H
#define WARPGYM_CLI_ROOTS_H

#include "base/paths.h"
#include "base/settings.h"
#include "cli/options.h"

NODISCARD int cli_roots(const struct cli_words *named, const struct settings *settings,
                        struct paths_list *roots, struct err *err);

#endif
