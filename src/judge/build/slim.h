/* slim: our own headers in place of PyTorch's, as they lie in python/warpgym/slim. */
#pragma once

#include "base/err.h"

struct slim {
    char *directory; /* holds include/ and glue/ */
    char *text;      /* of all files, one after the other: what builds with them depend on */
};

/* `package`: directory that holds warpgym/; NULL: there is none. slim_close also after a failure.
 */
NODISCARD int slim_open(struct slim *slim, const char *package, struct err *err);
void slim_close(struct slim *slim);
