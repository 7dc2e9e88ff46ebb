#include "server/problem_hashes.h"

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

struct problem_hashes {
    const struct paths_list *search_paths;
    pthread_mutex_t lock;
    struct entry *entry; /* the lock */
};

struct problem_hashes *problem_hashes_new(const struct paths_list *search_paths)
{
    struct problem_hashes *problem_hashes = mem_alloc(sizeof *problem_hashes);
    problem_hashes->search_paths = search_paths;
    pthread_mutex_init(&problem_hashes->lock, NULL);
    return problem_hashes;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void entry_remove(struct problem_hashes *problem_hashes)
{
    struct entry *entry, *next;
    HASH_ITER (hh, problem_hashes->entry, entry, next) {
        HASH_DEL(problem_hashes->entry, entry);
        mem_free(entry);
    }
}

void problem_hashes_free(struct problem_hashes *problem_hashes)
{
    if (!problem_hashes)
        return;
    entry_remove(problem_hashes);
    pthread_mutex_destroy(&problem_hashes->lock);
    mem_free(problem_hashes);
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static bool entry_find(struct problem_hashes *problem_hashes, const char *id,
                       char hex[HASH_HEX_BYTES])
{
    struct entry *entry;
    pthread_mutex_lock(&problem_hashes->lock);
    HASH_FIND_STR(problem_hashes->entry, id, entry);
    bool fresh = entry && clock_ms_since(entry->read_ns) < PROBLEM_HASHES_FRESH_MS;
    if (fresh)
        memcpy(hex, entry->hash, HASH_HEX_BYTES);
    pthread_mutex_unlock(&problem_hashes->lock);
    return fresh;
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void entry_add(struct problem_hashes *problem_hashes, const char *id, const char *hex)
{
    struct entry *entry;
    pthread_mutex_lock(&problem_hashes->lock);
    HASH_FIND_STR(problem_hashes->entry, id, entry);
    if (!entry) {
        if (HASH_COUNT(problem_hashes->entry) >= LIMIT_KNOWN_PROBLEMS)
            entry_remove(problem_hashes);
        entry = mem_alloc(sizeof *entry);
        snprintf(entry->id, sizeof entry->id, "%s", id);
        HASH_ADD_STR(problem_hashes->entry, id, entry);
    }
    memcpy(entry->hash, hex, HASH_HEX_BYTES);
    entry->read_ns = clock_now_ns();
    pthread_mutex_unlock(&problem_hashes->lock);
}

int problem_hashes_get(struct problem_hashes *problem_hashes, const char *id,
                       char hex[HASH_HEX_BYTES], struct err *err)
{
    if (strlen(id) > LIMIT_NAME_BYTES)
        return err_set(err, ERR_MISSING, "no problem has a name of that length");
    if (entry_find(problem_hashes, id, hex))
        return 0;
    struct problem problem = {0};
    int result = suite_load_id(problem_hashes->search_paths, id, &problem, err);
    if (result == 0) {
        memcpy(hex, problem.hash, HASH_HEX_BYTES);
        entry_add(problem_hashes, id, hex);
    }
    problem_deinit(&problem);
    return result;
}
