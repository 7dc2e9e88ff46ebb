#include "client/http_pool.h"

#include "base/mem.h"

#include <pthread.h>

struct http_pool {
    struct http_flow_options options; /* its strings are the arena's */
    struct arena arena;
    pthread_mutex_t mutex;
    struct http_flow **idle;
    size_t idle_count, most;
};

static const char *pool_copy_text(struct http_pool *pool, const char *text)
{
    return text ? arena_strdup(&pool->arena, text) : NULL;
}

int http_pool_open(struct http_pool **out, const struct http_flow_options *options, size_t most,
                   struct err *err)
{
    struct http_pool *pool = mem_alloc(sizeof *pool);
    struct http_flow *first;
    pool->options = *options;
    pool->options.url = pool_copy_text(pool, options->url);
    pool->options.token = pool_copy_text(pool, options->token);
    pool->options.token_header = pool_copy_text(pool, options->token_header);
    pool->options.token_setting = pool_copy_text(pool, options->token_setting);
    pool->options.accept = pool_copy_text(pool, options->accept);
    pool->options.ca_file = pool_copy_text(pool, options->ca_file);
    pool->most = most;
    pool->idle = mem_alloc(most * sizeof(struct http_flow *));
    pthread_mutex_init(&pool->mutex, NULL);
    int result = http_flow_open(&first, &pool->options, err);
    *out = NULL;
    if (result < 0) {
        http_pool_close(pool);
        return result;
    }
    http_pool_return(pool, first);
    *out = pool;
    return 0;
}

void http_pool_close(struct http_pool *pool)
{
    if (!pool)
        return;
    while (pool->idle_count > 0)
        http_flow_close(pool->idle[--pool->idle_count]);
    pthread_mutex_destroy(&pool->mutex);
    arena_deinit(&pool->arena);
    mem_free(pool->idle);
    mem_free(pool);
}

int http_pool_take(struct http_pool *pool, struct http_flow **out, struct err *err)
{
    *out = NULL;
    pthread_mutex_lock(&pool->mutex);
    if (pool->idle_count > 0)
        *out = pool->idle[--pool->idle_count];
    pthread_mutex_unlock(&pool->mutex);
    return *out ? 0 : http_flow_open(out, &pool->options, err);
}

void http_pool_return(struct http_pool *pool, struct http_flow *flow)
{
    pthread_mutex_lock(&pool->mutex);
    bool kept = pool->idle_count < pool->most;
    if (kept)
        pool->idle[pool->idle_count++] = flow;
    pthread_mutex_unlock(&pool->mutex);
    if (!kept)
        http_flow_close(flow);
}
