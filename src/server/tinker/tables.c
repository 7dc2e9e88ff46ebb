/* The tables of the service: uthash's macros, a function each. With the lock. */
#include "server/tinker/internal.h"

#include <string.h>

#define TABLE(name, type, table)                                                                   \
    /* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */        \
    struct type *tinker_##name##_get(const struct tinker_service *service, const char *id)         \
    {                                                                                              \
        struct type *found;                                                                        \
        HASH_FIND_STR(service->table, id, found);                                                  \
        return found;                                                                              \
    }                                                                                              \
    /* NOLINTNEXTLINE(readability-function-size) */                                                \
    void tinker_##name##_put(struct tinker_service *service, struct type *entry)                   \
    {                                                                                              \
        HASH_ADD_STR(service->table, id, entry);                                                   \
    }                                                                                              \
    /* NOLINTNEXTLINE(readability-function-size) */                                                \
    void tinker_##name##_remove(struct tinker_service *service, struct type *entry)                \
    {                                                                                              \
        HASH_DEL(service->table, entry); /* NOLINT(clang-analyzer-core.NullDereference) */         \
    }

TABLE(session, tinker_session, sessions)
TABLE(run, tinker_run, runs)
TABLE(sampler, tinker_sampler, samplers)

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
struct tinker_future *tinker_future_by_id(const struct tinker_service *service, const char *id)
{
    struct tinker_future *found;
    HASH_FIND(by_id, service->by_id, id, strlen(id), found);
    return found;
}

/* NOLINTNEXTLINE(readability-function-size) */
struct tinker_future *tinker_future_by_key(const struct tinker_service *service, const char *key)
{
    struct tinker_future *found = NULL;
    if (key)
        HASH_FIND(by_key, service->by_key, key, strlen(key), found);
    return found;
}

/* NOLINTNEXTLINE(readability-function-size) */
void tinker_future_put(struct tinker_service *service, struct tinker_future *future)
{
    HASH_ADD(by_id, service->by_id, id[0], strlen(future->id), future);
    if (future->key)
        HASH_ADD_KEYPTR(by_key, service->by_key, future->key, strlen(future->key), future);
}

/* NOLINTNEXTLINE(readability-function-size) */
void tinker_future_remove(struct tinker_service *service, struct tinker_future *future)
{
    HASH_DELETE(by_id, service->by_id, future); /* NOLINT(clang-analyzer-core.NullDereference) */
    if (future->key)
        HASH_DELETE(by_key, service->by_key, future); /* NOLINT(clang-analyzer-*) */
}
