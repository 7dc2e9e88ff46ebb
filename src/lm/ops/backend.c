#include "lm/ops/backend.h"

#include <sched.h>

/* Which backends there are; whether one works on this machine is its opener's to say. */
static const struct {
    const char *name;
    int (*open)(struct lm_backend **out, size_t threads, struct err *err);
} makers[] = {
    {"reference", lm_reference_open},
    {"cpu", lm_cpu_open},
    {NULL, NULL},
};

const struct word_table lm_backend_words = WORD_TABLE_OF(makers, name);

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
    int found;
    *out = NULL;
    int result = word_find(&lm_backend_words, "backend", name, &found, err);
    return result < 0 ? result
                      : makers[found].open(out, threads > 0 ? threads : usable_cores(), err);
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
