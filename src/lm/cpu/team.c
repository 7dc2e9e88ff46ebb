#include "lm/cpu/team.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PART_LEAST 16384 /* elements */
#define PARTS_EACH 4     /* of a thread: the last to end is not far behind the others */
/* How long a thread looks out before it sleeps: longer than from one op to the next. Waking a
 * virtual processor takes as long. */
#define LOOK_OUT_NS 100000
#define LOOKS 32 /* between two looks at the clock */

/* A run is one generation. `open` holds its number (high half) and how many tasks nobody has
 * taken; whoever takes one by exchange knows that this run has not ended, so the other members are
 * its own. */
struct team {
    _Atomic uint64_t open;
    team_task *task;
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
        struct team *team;
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

static bool has_open(struct team *team)
{
    return (uint32_t)atomic_load(&team->open) > 0;
}

static bool has_ended(struct team *team)
{
    return atomic_load(&team->unfinished) == 0;
}

static bool is_wanted(struct team *team)
{
    return has_open(team) || atomic_load(&team->stopping);
}

/* False: in vain. */
static bool look_out(struct team *team, bool (*ready)(struct team *))
{
    int64_t end_ns = clock_now_ns() + LOOK_OUT_NS;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (ready(team))
                return true;
            pause_briefly();
        }
    } while (clock_now_ns() < end_ns);
    return false;
}

/* Takes tasks until there are none. */
static void take_part(struct team *team, size_t thread)
{
    uint64_t open = atomic_load(&team->open);
    while ((uint32_t)open > 0) {
        if (!atomic_compare_exchange_weak(&team->open, &open, open - 1))
            continue;
        team->task(team->work, team->count - (uint32_t)open, thread);
        if (atomic_fetch_sub(&team->unfinished, 1) == 1 && atomic_load(&team->waiting)) {
            pthread_mutex_lock(&team->lock);
            pthread_cond_signal(&team->finished);
            pthread_mutex_unlock(&team->lock);
        }
        open = atomic_load(&team->open);
    }
}

static void *worker_main(void *data)
{
    struct worker *worker = data;
    struct team *team = worker->team;
    while (!atomic_load(&team->stopping)) {
        take_part(team, worker->thread);
        if (look_out(team, is_wanted))
            continue;
        /* First counted, then looked again: whoever opens a run does it the other way round. */
        pthread_mutex_lock(&team->lock);
        atomic_fetch_add(&team->sleeping, 1);
        while (!is_wanted(team))
            pthread_cond_wait(&team->opened, &team->lock);
        atomic_fetch_sub(&team->sleeping, 1);
        pthread_mutex_unlock(&team->lock);
    }
    return NULL;
}

static void wake_workers(struct team *team)
{
    pthread_mutex_lock(&team->lock);
    pthread_cond_broadcast(&team->opened);
    pthread_mutex_unlock(&team->lock);
}

struct team *team_new(size_t threads)
{
    size_t wanted = threads > 1 ? threads - 1 : 0;
    struct team *team = mem_alloc(sizeof *team + wanted * sizeof *team->worker);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->opened, NULL);
    pthread_cond_init(&team->finished, NULL);
    for (; team->workers < wanted; team->workers++) {
        struct worker *worker = &team->worker[team->workers];
        *worker = (struct worker){.team = team, .thread = team->workers + 1};
        if (pthread_create(&worker->id, NULL, worker_main, worker) != 0)
            break;
    }
    return team;
}

void team_free(struct team *team)
{
    if (!team)
        return;
    atomic_store(&team->stopping, true);
    wake_workers(team);
    for (size_t i = 0; i < team->workers; i++)
        pthread_join(team->worker[i].id, NULL);
    pthread_cond_destroy(&team->finished);
    pthread_cond_destroy(&team->opened);
    pthread_mutex_destroy(&team->lock);
    mem_free(team);
}

static void wait_for_end(struct team *team)
{
    if (look_out(team, has_ended))
        return;
    pthread_mutex_lock(&team->lock);
    atomic_store(&team->waiting, true);
    while (!has_ended(team))
        pthread_cond_wait(&team->finished, &team->lock);
    atomic_store(&team->waiting, false);
    pthread_mutex_unlock(&team->lock);
}

void team_run(struct team *team, size_t count, team_task *task, const void *work)
{
    if (!team || team->workers == 0 || count <= 1) {
        for (size_t i = 0; i < count; i++)
            task(work, i, 0);
        return;
    }
    uint64_t generation = (atomic_load(&team->open) >> 32) + 1;
    team->task = task;
    team->work = work;
    team->count = count;
    atomic_store(&team->unfinished, count);
    atomic_store(&team->open, generation << 32 | (uint32_t)count);
    if (atomic_load(&team->sleeping) > 0)
        wake_workers(team);
    take_part(team, 0);
    wait_for_end(team);
}

size_t team_parts(size_t threads, size_t amount)
{
    size_t parts = amount / PART_LEAST;
    size_t most = threads > 1 ? PARTS_EACH * threads : 1;
    return parts < 1 ? 1 : parts > most ? most : parts;
}

struct team_range team_cut(size_t count, size_t unit, size_t parts, size_t part)
{
    size_t units = (count + unit - 1) / unit;
    size_t first = units * part / parts * unit, end = units * (part + 1) / parts * unit;
    first = first < count ? first : count;
    end = end < count ? end : count;
    return (struct team_range){.first = first, .count = end - first};
}
