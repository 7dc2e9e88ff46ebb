#include "lm/ops/host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Weights are read from end to end for each token: looking up pages of 4 KiB halves that speed. */
#define HUGE_PAGE ((size_t)2 << 20)

static void *host_alloc(struct lm_backend *backend, size_t bytes)
{
    size_t alignment = bytes < HUGE_PAGE ? LM_HOST_ALIGNMENT : HUGE_PAGE;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, whole ? whole : alignment);
    if (memory && alignment == HUGE_PAGE)
        madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}

static void host_free(struct lm_backend *backend, void *memory)
{
    free(memory);
}

static void host_zero(struct lm_backend *backend, void *memory, size_t bytes)
{
    if (bytes > 0)
        memset(memory, 0, bytes);
}

static void host_copy(struct lm_backend *backend, void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
}

static int host_wait(struct lm_backend *backend, struct err *err)
{
    (void)backend, (void)err;
    return 0;
}

void lm_host_memory(struct lm_backend *backend)
{
    backend->alloc = host_alloc;
    backend->free = host_free;
    backend->zero = host_zero;
    backend->copy = host_copy;
    backend->upload = host_copy;
    backend->download = host_copy;
    backend->wait = host_wait;
}
