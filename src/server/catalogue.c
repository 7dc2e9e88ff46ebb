#include "server/catalogue.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "problem/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <uthash.h>

struct entry {
    char id[LIMIT_NAME_BYTES + 1];
    char hash[HASH_HEX_BYTES];
    int64_t read_ns;
    UT_hash_handle hh;
};

struct catalogue {
    const char *const *search_paths;
    size_t search_path_count;
    pthread_mutex_t lock;
    struct entry *entry; /* the lock */
};

struct catalogue *catalogue_new(const char *const *search_paths, size_t search_path_count)
{
    struct catalogue *catalogue = mem_alloc(sizeof *catalogue);
    catalogue->search_paths = search_paths;
    catalogue->search_path_count = search_path_count;
    pthread_mutex_init(&catalogue->lock, NULL);
    return catalogue;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void entry_remove(struct catalogue *catalogue)
{
    struct entry *entry, *next;
    HASH_ITER (hh, catalogue->entry, entry, next) {
        HASH_DEL(catalogue->entry, entry);
        mem_free(entry);
    }
}

void catalogue_free(struct catalogue *catalogue)
{
    if (!catalogue)
        return;
    entry_remove(catalogue);
    pthread_mutex_destroy(&catalogue->lock);
    mem_free(catalogue);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static bool entry_find(struct catalogue *catalogue, const char *id, char hex[HASH_HEX_BYTES])
{
    struct entry *entry;
    pthread_mutex_lock(&catalogue->lock);
    HASH_FIND_STR(catalogue->entry, id, entry);
    bool fresh = entry && clock_ms_since(entry->read_ns) < CATALOGUE_FRESH_MS;
    if (fresh)
        memcpy(hex, entry->hash, HASH_HEX_BYTES);
    pthread_mutex_unlock(&catalogue->lock);
    return fresh;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void entry_add(struct catalogue *catalogue, const char *id, const char *hex)
{
    struct entry *entry;
    pthread_mutex_lock(&catalogue->lock);
    HASH_FIND_STR(catalogue->entry, id, entry);
    if (!entry) {
        if (HASH_COUNT(catalogue->entry) >= LIMIT_KNOWN_PROBLEMS)
            entry_remove(catalogue);
        entry = mem_alloc(sizeof *entry);
        snprintf(entry->id, sizeof entry->id, "%s", id);
        HASH_ADD_STR(catalogue->entry, id, entry);
    }
    memcpy(entry->hash, hex, HASH_HEX_BYTES);
    entry->read_ns = clock_now_ns();
    pthread_mutex_unlock(&catalogue->lock);
}

int catalogue_hash(struct catalogue *catalogue, const char *id, char hex[HASH_HEX_BYTES],
                   struct err *err)
{
    if (strlen(id) > LIMIT_NAME_BYTES)
        return err_set(err, ERR_MISSING, "no problem has a name of that length");
    if (entry_find(catalogue, id, hex))
        return 0;
    struct problem problem = {0};
    int result = suite_load_id(catalogue->search_paths, catalogue->search_path_count, id, &problem,
                               err);
    if (result == 0) {
        memcpy(hex, problem.hash, HASH_HEX_BYTES);
        entry_add(catalogue, id, hex);
    }
    problem_deinit(&problem);
    return result;
}
