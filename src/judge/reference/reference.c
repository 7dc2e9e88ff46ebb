#include "judge/reference/reference.h"

#include "base/mem.h"

#include <string.h>
#include <unistd.h>

struct shelf_item {
    struct reference reference;
    struct shelf_item *older;
};

void reference_close(struct reference *reference)
{
    if (reference->open)
        child_close(&reference->child);
    artifact_deinit(&reference->artifact);
    artifact_deinit(&reference->oracle_artifact);
    if (reference->description >= 0)
        close(reference->description);
    if (reference->weights >= 0)
        close(reference->weights);
    *reference = REFERENCE_NONE;
}

void shelf_init(struct shelf *shelf)
{
    *shelf = (struct shelf){0};
    pthread_mutex_init(&shelf->lock, NULL);
}

static void close_items(struct shelf_item *item)
{
    while (item) {
        struct shelf_item *older = item->older;
        reference_close(&item->reference);
        mem_free(item);
        item = older;
    }
}

void shelf_deinit(struct shelf *shelf)
{
    close_items(shelf->newest);
    pthread_mutex_destroy(&shelf->lock);
}

/* With the lock: cuts an item out, and puts it before `list`. */
static struct shelf_item *move(struct shelf_item **place, struct shelf_item *list)
{
    struct shelf_item *item = *place;
    *place = item->older;
    item->older = list;
    return item;
}

static bool suits(const struct reference *reference, const char *hash,
                  const struct gpu_context *gpu)
{
    return reference->child.gpu == gpu && strcmp(reference->hash, hash) == 0;
}

bool shelf_has(struct shelf *shelf, const char *hash, const struct gpu_context *gpu)
{
    bool has = false;
    pthread_mutex_lock(&shelf->lock);
    for (const struct shelf_item *item = shelf->newest; item && !has; item = item->older)
        has = suits(&item->reference, hash, gpu);
    pthread_mutex_unlock(&shelf->lock);
    return has;
}

bool shelf_take(struct shelf *shelf, const char *hash, const struct gpu_context *gpu,
                struct reference *reference)
{
    struct shelf_item *dead = NULL;
    struct shelf_item *found = NULL;
    pthread_mutex_lock(&shelf->lock);
    for (struct shelf_item **place = &shelf->newest; *place && !found;) {
        struct reference *candidate = &(*place)->reference;
        if (!suits(candidate, hash, gpu))
            place = &(*place)->older;
        else if (sandboxed_ended(&candidate->child.process))
            dead = move(place, dead);
        else
            found = move(place, NULL);
    }
    pthread_mutex_unlock(&shelf->lock);
    close_items(dead);
    if (!found)
        return false;
    *reference = found->reference;
    mem_free(found);
    return true;
}

/* With the lock: cuts out all of that device but the newest ones, and counts them. */
static struct shelf_item *cut_oldest(struct shelf *shelf, const struct gpu_context *gpu, int places,
                                     int *count)
{
    struct shelf_item *cut = NULL;
    int kept = 0;
    *count = 0;
    for (struct shelf_item **place = &shelf->newest; *place;) {
        bool of_it = (*place)->reference.child.gpu == gpu;
        if (of_it && kept == places) {
            cut = move(place, cut);
            ++*count;
            continue;
        }
        kept += of_it;
        place = &(*place)->older;
    }
    return cut;
}

void shelf_put(struct shelf *shelf, struct reference *reference)
{
    struct shelf_item *item = mem_alloc(sizeof *item);
    int ignored;
    item->reference = *reference;
    *reference = REFERENCE_NONE;
    pthread_mutex_lock(&shelf->lock);
    item->older = shelf->newest;
    shelf->newest = item;
    struct shelf_item *surplus = cut_oldest(shelf, item->reference.child.gpu, SHELF_PLACES,
                                            &ignored);
    pthread_mutex_unlock(&shelf->lock);
    close_items(surplus);
}

int shelf_clear(struct shelf *shelf, const struct gpu_context *gpu)
{
    int count;
    pthread_mutex_lock(&shelf->lock);
    struct shelf_item *cleared = cut_oldest(shelf, gpu, 0, &count);
    pthread_mutex_unlock(&shelf->lock);
    close_items(cleared);
    return count;
}
