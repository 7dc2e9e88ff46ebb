/* mcp_pool: threads that appear as work comes, up to a bound, and stay.
 *
 * What is pushed is done, in order of coming, even when the pool is stopped meanwhile.
 */
#ifndef WARPGYM_SERVER_MCP_POOL_H
#define WARPGYM_SERVER_MCP_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct mcp_pool;

struct mcp_pool *mcp_pool_new(size_t threads_max, size_t queue_max);
/* False: the queue is full, or no thread could be started; `run` is not called. */
bool mcp_pool_push(struct mcp_pool *pool, void (*run)(void *), void *argument);
/* Waits for all of it. NULL is fine. */
void mcp_pool_free(struct mcp_pool *pool);

#endif
