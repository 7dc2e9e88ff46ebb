/* installation: programs and directories that children and builds need.
 *
 * Ownership: the judge's. Threads: read-only once it is found.
 */
#pragma once

#include "base/settings.h"

struct installation {
    char *root;
    char *cache, *state; /* NULL: nothing is kept */
    char *locks;
    char *child_program;
    char *python, *python_package; /* NULL: there is none */
    char *python_problem;          /* why WARPGYM_PYTHON cannot be run; NULL */
};

/* ERR_MISSING: what no judge can do without, or a Python that the settings name.
 * installation_deinit, also after a failure. */
NODISCARD int installation_find(struct installation *installation, const struct settings *settings,
                                struct err *err);
void installation_deinit(struct installation *installation);
