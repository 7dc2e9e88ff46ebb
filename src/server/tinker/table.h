/* table: entries by their member `id`, with a handle `hh`, in a member of the service: uthash's
 * macros, a function each, because they nest deeper than our functions do.
 *
 *   NAME_get: NULL: none          NAME_put, NAME_remove: the entry stays its owner's
 *
 * A table is iterated by hh.next. `linkage` is static where one file alone uses it. Threads: with
 * the lock (state.h).
 */
#pragma once

#include "server/tinker/state.h"

#include <uthash.h>

#define TINKER_TABLE(linkage, name, type, table)                                                   \
    /* NOLINTNEXTLINE(readability-function-size) */                                                \
    linkage struct type *name##_get(const struct tinker_service *service, const char *id)          \
    {                                                                                              \
        struct type *found;                                                                        \
        HASH_FIND_STR(service->table, id, found);                                                  \
        return found;                                                                              \
    }                                                                                              \
    /* NOLINTNEXTLINE(readability-function-size) */                                                \
    linkage void name##_put(struct tinker_service *service, struct type *entry)                    \
    {                                                                                              \
        HASH_ADD_STR(service->table, id, entry);                                                   \
    }                                                                                              \
    /* NOLINTNEXTLINE(readability-function-size) */                                                \
    linkage void name##_remove(struct tinker_service *service, struct type *entry)                 \
    {                                                                                              \
        HASH_DEL(service->table, entry); /* NOLINT(clang-analyzer-core.NullDereference) */         \
    }
