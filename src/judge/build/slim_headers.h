/* slim_headers: our own headers in place of PyTorch's, as they lie in python/warpgym/slim. */
#pragma once

#include "base/err.h"

struct slim_headers {
    char *directory; /* holds include/ and glue/ */
    char *text;      /* of all files, one after the other: what builds with them depend on */
};

/* `package`: directory that holds warpgym/; NULL: there is none. slim_headers_close also after a
 * failure. */
NODISCARD int slim_headers_open(struct slim_headers *slim, const char *package, struct err *err);
void slim_headers_close(struct slim_headers *slim);
