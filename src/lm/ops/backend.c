#include "lm/ops/backend.h"

#include "base/array.h"
#include "base/buf.h"

#include <sched.h>
#include <string.h>

/* Which backends there are; whether one works on this machine is its opener's to say. */
static const struct lm_backend_maker makers[] = {
    {"reference", lm_reference_open},
    {"cpu", lm_cpu_open},
};

static size_t usable_cores(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) < 0)
        return 1;
    int count = CPU_COUNT(&cores);
    return count > 0 ? (size_t)count : 1;
}

int lm_backend_open(struct lm_backend **out, const char *name, size_t threads, struct err *err)
{
    struct buf names;
    *out = NULL;
    for (size_t i = 0; i < COUNT(makers); i++)
        if (strcmp(makers[i].name, name) == 0)
            return makers[i].open(out, threads > 0 ? threads : usable_cores(), err);
    buf_init(&names, ERR_TEXT_MAX);
    for (size_t i = 0; i < COUNT(makers); i++)
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", makers[i].name);
    err_set(err, ERR_MISSING, "there is no backend '%.64s'; choose from: %.*s", name,
            (int)names.len, names.data);
    buf_deinit(&names);
    return ERR_MISSING;
}

void lm_backend_close(struct lm_backend *backend)
{
    if (backend)
        backend->close(backend);
}

int lm_backend_alloc(struct lm_backend *backend, size_t bytes, const char *what, void **out,
                     struct err *err)
{
    *out = backend->alloc(backend, bytes);
    if (*out)
        return 0;
    return err_set(err, ERR_LIMIT, "no memory for %s: %.1f MiB are needed on backend '%s'", what,
                   (double)bytes / (1 << 20), backend->name);
}

int lm_backend_wait(struct lm_backend *backend, struct err *err)
{
    return backend->wait(backend, err);
}

size_t lm_dtype_bytes(enum lm_dtype dtype)
{
    return dtype == LM_F32 ? sizeof(float) : sizeof(uint16_t);
}
