#include "judge/open/reference_cache.h"

#include "base/mem.h"

#include <string.h>

struct cached_reference {
    struct reference reference;
    struct cached_reference *older;
};

void reference_cache_init(struct reference_cache *references)
{
    *references = (struct reference_cache){0};
    pthread_mutex_init(&references->lock, NULL);
}

static void close_items(struct cached_reference *item)
{
    while (item) {
        struct cached_reference *older = item->older;
        reference_close(&item->reference);
        mem_free(item);
        item = older;
    }
}

void reference_cache_deinit(struct reference_cache *references)
{
    close_items(references->newest);
    pthread_mutex_destroy(&references->lock);
}

/* With the lock: cuts an item out and puts it before `list`. */
static struct cached_reference *move_entry(struct cached_reference **place,
                                           struct cached_reference *list)
{
    struct cached_reference *item = *place;
    *place = item->older;
    item->older = list;
    return item;
}

static bool reference_suits(const struct reference *reference, const char *hash,
                            const struct gpu_context *gpu)
{
    return reference->child.gpu == gpu && strcmp(reference->hash, hash) == 0;
}

bool reference_cache_has(struct reference_cache *references, const char *hash,
                         const struct gpu_context *gpu)
{
    bool has = false;
    pthread_mutex_lock(&references->lock);
    for (const struct cached_reference *item = references->newest; item && !has; item = item->older)
        has = reference_suits(&item->reference, hash, gpu);
    pthread_mutex_unlock(&references->lock);
    return has;
}

static struct cached_reference *cut_newest(struct reference_cache *references, const char *hash,
                                           const struct gpu_context *gpu)
{
    struct cached_reference *found = NULL;
    pthread_mutex_lock(&references->lock);
    for (struct cached_reference **place = &references->newest; *place && !found;)
        if (reference_suits(&(*place)->reference, hash, gpu))
            found = move_entry(place, NULL);
        else
            place = &(*place)->older;
    pthread_mutex_unlock(&references->lock);
    return found;
}

bool reference_cache_take(struct reference_cache *references, const char *hash,
                          const struct gpu_context *gpu, struct reference *reference)
{
    struct cached_reference *found;
    while ((found = cut_newest(references, hash, gpu))) {
        bool ended = sandboxed_ended(&found->reference.child.process);
        *reference = found->reference;
        mem_free(found);
        if (!ended)
            return true;
        reference_close(reference);
    }
    return false;
}

/* With the lock: cuts out all of that device but the newest ones, as many as there are places and
 * memory for, and counts them. */
static struct cached_reference *cut_oldest(struct reference_cache *references,
                                           const struct gpu_context *gpu, int places,
                                           uint64_t bytes, int *count)
{
    struct cached_reference *cut = NULL;
    *count = 0;
    for (struct cached_reference **place = &references->newest; *place;) {
        const struct reference *reference = &(*place)->reference;
        if (reference->child.gpu != gpu) {
            place = &(*place)->older;
            continue;
        }
        uint64_t taken = reference_bytes(reference);
        if (places > 0 && taken <= bytes) {
            places--;
            bytes -= taken;
            place = &(*place)->older;
        } else {
            cut = move_entry(place, cut);
            ++*count;
        }
    }
    return cut;
}

/* How many were closed. */
static int close_oldest(struct reference_cache *references, const struct gpu_context *gpu,
                        int places, uint64_t bytes)
{
    int count;
    pthread_mutex_lock(&references->lock);
    struct cached_reference *cut = cut_oldest(references, gpu, places, bytes, &count);
    pthread_mutex_unlock(&references->lock);
    close_items(cut);
    return count;
}

void reference_cache_put(struct reference_cache *references, struct reference *reference,
                         uint64_t bytes)
{
    struct cached_reference *item = mem_alloc(sizeof *item);
    const struct gpu_context *gpu = reference->child.gpu;
    item->reference = *reference;
    *reference = REFERENCE_NONE;
    pthread_mutex_lock(&references->lock);
    item->older = references->newest;
    references->newest = item;
    pthread_mutex_unlock(&references->lock);
    (void)close_oldest(references, gpu, REFERENCE_CACHE_PER_DEVICE, bytes);
}

void reference_cache_trim(struct reference_cache *references, const struct gpu_context *gpu,
                          uint64_t bytes)
{
    (void)close_oldest(references, gpu, REFERENCE_CACHE_PER_DEVICE, bytes);
}

int reference_cache_clear(struct reference_cache *references, const struct gpu_context *gpu)
{
    return close_oldest(references, gpu, 0, 0);
}
