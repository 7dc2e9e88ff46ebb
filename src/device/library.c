#include "device/library.h"

#include <dlfcn.h>
#include <string.h>

void library_close(void **handle)
{
    if (*handle)
        dlclose(*handle);
    *handle = NULL;
}

static int resolve_function(void *handle, const char *name,
                            const struct library_function *functions, size_t count, void *table,
                            struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, functions[i].symbol);
        if (!symbol && !functions[i].optional)
            return err_set(err, ERR_UNSUPPORTED, "%s has no %s: it is older than warpgym supports",
                           name, functions[i].symbol);
        memcpy((char *)table + functions[i].offset, &symbol, sizeof symbol);
    }
    return 0;
}

void library_find(void *handle, const struct library_function *functions, size_t count, void *table)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, functions[i].symbol);
        memcpy((char *)table + functions[i].offset, &symbol, sizeof symbol);
    }
}

int library_open(void **handle, const char *const *names, const struct library_function *functions,
                 size_t count, void *table, struct err *err)
{
    const char *const *name = names;
    *handle = NULL;
    while (*name && !(*handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL)))
        name++;
    if (!*handle)
        return err_set(err, ERR_MISSING, "%s is not on this machine", names[0]);
    int result = resolve_function(*handle, *name, functions, count, table, err);
    if (result < 0)
        library_close(handle);
    return result;
}
