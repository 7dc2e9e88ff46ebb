#include "device/cupti.h"

#include "base/array.h"
#include "base/file.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* From the directory of nvcc: a toolkit as NVIDIA installs it, its packages for Python, or Debian's
 * layout. */
static const char *const places[] = {
    "../lib64",
    "../lib",
    "../targets/x86_64-linux/lib",
    "../extras/CUPTI/lib64",
    "../../cuda_cupti/lib",
    "../lib/x86_64-linux-gnu",
};
static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};

char *cupti_find(const char *nvcc)
{
    char *real = nvcc ? realpath(nvcc, NULL) : NULL; /* /usr/local/cuda is a link */
    char *slash = real ? strrchr(real, '/') : NULL;
    char *found = NULL;
    if (slash)
        *slash = '\0';
    for (size_t n = 0; slash && !found && n < COUNT(names); n++)
        for (size_t p = 0; !found && p < COUNT(places); p++) {
            found = mem_printf("%s/%s/%s", real, places[p], names[n]);
            if (!file_exists(found)) {
                mem_free(found);
                found = NULL;
            }
        }
    free(real);
    return found;
}
