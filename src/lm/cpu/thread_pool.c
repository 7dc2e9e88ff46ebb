#include "lm/cpu/thread_pool.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PART_LEAST 16384 /* elements */
#define PARTS_EACH 4     /* of a thread: the last to end is not far behind the others */
/* How long an idle thread polls for work before it sleeps: longer than the gap between two ops.
 * Waking a virtual processor takes as long. */
#define LOOK_OUT_NS 100000
#define LOOKS 32 /* between two looks at the clock */

/* A run is one generation. `open` holds its number (high half) and the number of unclaimed tasks. A
 * thread that claims a task by compare-and-exchange knows that this run has not ended, so the other
 * members belong to this run. */
struct lm_pool {
    _Atomic uint64_t open;
    lm_pool_task *task;
    const void *work;
    size_t count;
    _Atomic size_t unfinished;
    _Atomic size_t sleeping; /* workers */
    _Atomic bool waiting;    /* the caller sleeps */
    _Atomic bool stopping;
    pthread_mutex_t lock;
    pthread_cond_t opened, finished;
    size_t workers;
    struct worker {
        struct lm_pool *pool;
        size_t thread;
        pthread_t id;
    } worker[];
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool has_open(struct lm_pool *pool)
{
    return (uint32_t)atomic_load(&pool->open) > 0;
}

static bool has_ended(struct lm_pool *pool)
{
    return atomic_load(&pool->unfinished) == 0;
}

static bool is_wanted(struct lm_pool *pool)
{
    return has_open(pool) || atomic_load(&pool->stopping);
}

/* False: timed out. */
static bool look_out(struct lm_pool *pool, bool (*ready)(struct lm_pool *))
{
    int64_t end_ns = clock_now_ns() + LOOK_OUT_NS;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (ready(pool))
                return true;
            pause_briefly();
        }
    } while (clock_now_ns() < end_ns);
    return false;
}

/* Takes tasks until there are none. */
static void take_part(struct lm_pool *pool, size_t thread)
{
    uint64_t open = atomic_load(&pool->open);
    while ((uint32_t)open > 0) {
        if (!atomic_compare_exchange_weak(&pool->open, &open, open - 1))
            continue;
        pool->task(pool->work, pool->count - (uint32_t)open, thread);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1 && atomic_load(&pool->waiting)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->finished);
            pthread_mutex_unlock(&pool->lock);
        }
        open = atomic_load(&pool->open);
    }
}

static void *worker_main(void *data)
{
    struct worker *worker = data;
    struct lm_pool *pool = worker->pool;
    while (!atomic_load(&pool->stopping)) {
        take_part(pool, worker->thread);
        if (look_out(pool, is_wanted))
            continue;
        /* Counts itself as sleeping first, then checks again; lm_pool_run does it in reverse
         * order. */
        pthread_mutex_lock(&pool->lock);
        atomic_fetch_add(&pool->sleeping, 1);
        while (!is_wanted(pool))
            pthread_cond_wait(&pool->opened, &pool->lock);
        atomic_fetch_sub(&pool->sleeping, 1);
        pthread_mutex_unlock(&pool->lock);
    }
    return NULL;
}

static void wake_workers(struct lm_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->lock);
}

struct lm_pool *lm_pool_new(size_t threads)
{
    size_t wanted = threads > 1 ? threads - 1 : 0;
    struct lm_pool *pool = mem_alloc(sizeof *pool + wanted * sizeof *pool->worker);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->opened, NULL);
    pthread_cond_init(&pool->finished, NULL);
    for (; pool->workers < wanted; pool->workers++) {
        struct worker *worker = &pool->worker[pool->workers];
        *worker = (struct worker){.pool = pool, .thread = pool->workers + 1};
        if (pthread_create(&worker->id, NULL, worker_main, worker) != 0)
            break;
    }
    return pool;
}

void lm_pool_free(struct lm_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->stopping, true);
    wake_workers(pool);
    for (size_t i = 0; i < pool->workers; i++)
        pthread_join(pool->worker[i].id, NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->opened);
    pthread_mutex_destroy(&pool->lock);
    mem_free(pool);
}

static void wait_for_end(struct lm_pool *pool)
{
    if (look_out(pool, has_ended))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waiting, true);
    while (!has_ended(pool))
        pthread_cond_wait(&pool->finished, &pool->lock);
    atomic_store(&pool->waiting, false);
    pthread_mutex_unlock(&pool->lock);
}

void lm_pool_run(struct lm_pool *pool, size_t count, lm_pool_task *task, const void *work)
{
    if (!pool || pool->workers == 0 || count <= 1) {
        for (size_t i = 0; i < count; i++)
            task(work, i, 0);
        return;
    }
    uint64_t generation = (atomic_load(&pool->open) >> 32) + 1;
    pool->task = task;
    pool->work = work;
    pool->count = count;
    atomic_store(&pool->unfinished, count);
    atomic_store(&pool->open, generation << 32 | (uint32_t)count);
    if (atomic_load(&pool->sleeping) > 0)
        wake_workers(pool);
    take_part(pool, 0);
    wait_for_end(pool);
}

size_t lm_pool_parts(size_t threads, size_t amount)
{
    size_t parts = amount / PART_LEAST;
    size_t most = threads > 1 ? PARTS_EACH * threads : 1;
    return parts < 1 ? 1 : parts > most ? most : parts;
}

struct lm_pool_range lm_pool_cut(size_t count, size_t unit, size_t parts, size_t part)
{
    size_t units = (count + unit - 1) / unit;
    size_t first = units * part / parts * unit, end = units * (part + 1) / parts * unit;
    first = first < count ? first : count;
    end = end < count ? end : count;
    return (struct lm_pool_range){.first = first, .count = end - first};
}
