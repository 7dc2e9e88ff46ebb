/* roots: where a subcommand looks for problems: its own --problems first, then the setting, then
 * the ones that come along. */
#ifndef WARPGYM_CLI_ROOTS_H
#define WARPGYM_CLI_ROOTS_H

#include "base/buf.h"
#include "base/paths.h"
#include "base/settings.h"
#include "cli/options.h"

#define CLI_ROOTS_BYTES ((size_t)65536)

/* The first two as the setting has them, "DIR:DIR", for whoever goes on later and from elsewhere:
 * whole paths, none twice. Where some are named, those of the setting that are gone are left out:
 * the directories may have been moved. `joined` is empty. */
void cli_roots_keep(const struct cli_words *named, const struct settings *settings,
                    struct buf *joined);
NODISCARD int cli_roots(const struct cli_words *named, const struct settings *settings,
                        struct paths_list *roots, struct err *err);

#endif
