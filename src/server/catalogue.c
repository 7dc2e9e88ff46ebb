#include "server/catalogue.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "problem/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <uthash.h>

struct known {
    char id[LIMIT_NAME_BYTES + 1];
    char hash[HASH_HEX_BYTES];
    int64_t read_ns;
    UT_hash_handle hh;
};

struct catalogue {
    const char *const *search_paths;
    size_t search_path_count;
    pthread_mutex_t lock;
    struct known *known; /* the lock */
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
static void forget(struct catalogue *catalogue)
{
    struct known *known, *next;
    HASH_ITER (hh, catalogue->known, known, next) {
        HASH_DEL(catalogue->known, known);
        mem_free(known);
    }
}

void catalogue_free(struct catalogue *catalogue)
{
    if (!catalogue)
        return;
    forget(catalogue);
    pthread_mutex_destroy(&catalogue->lock);
    mem_free(catalogue);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static bool recall(struct catalogue *catalogue, const char *id, char hex[HASH_HEX_BYTES])
{
    struct known *known;
    pthread_mutex_lock(&catalogue->lock);
    HASH_FIND_STR(catalogue->known, id, known);
    bool fresh = known && clock_ms_since(known->read_ns) < CATALOGUE_FRESH_MS;
    if (fresh)
        memcpy(hex, known->hash, HASH_HEX_BYTES);
    pthread_mutex_unlock(&catalogue->lock);
    return fresh;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void remember(struct catalogue *catalogue, const char *id, const char *hex)
{
    struct known *known;
    pthread_mutex_lock(&catalogue->lock);
    HASH_FIND_STR(catalogue->known, id, known);
    if (!known) {
        if (HASH_COUNT(catalogue->known) >= LIMIT_KNOWN_PROBLEMS)
            forget(catalogue);
        known = mem_alloc(sizeof *known);
        snprintf(known->id, sizeof known->id, "%s", id);
        HASH_ADD_STR(catalogue->known, id, known);
    }
    memcpy(known->hash, hex, HASH_HEX_BYTES);
    known->read_ns = clock_now_ns();
    pthread_mutex_unlock(&catalogue->lock);
}

int catalogue_hash(struct catalogue *catalogue, const char *id, char hex[HASH_HEX_BYTES],
                   struct err *err)
{
    if (strlen(id) > LIMIT_NAME_BYTES)
        return err_set(err, ERR_MISSING, "no problem has a name of that length");
    if (recall(catalogue, id, hex))
        return 0;
    struct problem problem = {0};
    int result = suite_load_id(catalogue->search_paths, catalogue->search_path_count, id, &problem,
                               err);
    if (result == 0) {
        memcpy(hex, problem.hash, HASH_HEX_BYTES);
        remember(catalogue, id, hex);
    }
    problem_deinit(&problem);
    return result;
}
