/* enter: how a session comes to the device that its candidate runs on, and leaves it.
 *
 *   a GPU    a place on it (gpu.at_once) ─► processes that hold a context ─► its lock, shared
 *   the CPU  its lock, shared
 *
 * Nobody who holds the lock waits for a context to be made or to end, and who waits for a compiler
 * has neither lock nor place. A place is kept until the memory behind it is free again, or the
 * shelf's; who has all places finds no memory that others took.
 * Declared in context.h.
 */
#include "judge/context.h"

#include "base/clock.h"
#include "base/log.h"

static struct busy_time *use_of(struct session *session)
{
    return session->unit ? &session->unit->busy : &session->judge->cpu_busy;
}

void session_let_go(struct session *session)
{
    if (session->device.room >= 0)
        busy_time_end(use_of(session));
    if (session->device.room >= 0 && session->unit)
        log_write(LOG_LEVEL_DEBUG, "judge", "GPU %d held for %.0f ms, %s",
                  session->unit->facts.ordinal, clock_ms_since(session->held_ns),
                  session->shares ? "shared" : "alone");
    device_lock_release(&session->device);
}

static int take_lock(struct session *session, enum device_lock_mode mode)
{
    struct err err;
    int64_t start_ns = clock_now_ns();
    int result = device_lock_acquire(&session->device, session->judge->locks,
                                     session_device(session), mode, session->cancelled, &err);
    session->verdict->stages_ms[STAGE_QUEUE] += clock_ms_since(start_ns);
    if (result < 0)
        return fault_judge(session, &err);
    session->held_ns = clock_now_ns();
    busy_time_begin(use_of(session), mode == DEVICE_EXCLUSIVE);
    return 0;
}

/* Nobody else is there now: what rests on the shelf has memory, too. */
static void clear_others(struct session *session)
{
    (void)session_reference_ready(session); /* its own */
    (void)reference_cache_clear(&session->judge->references, session->gpu);
}

/* Whether some are to be started follows from how many are on the GPU. */
static void look_for_processes(struct session *session)
{
    for (int kind = 0; kind < SANDBOX_BUILD; kind++)
        warm_pool_wake(session->unit->warm[kind]);
}

/* One; all of them for who is to be alone, because a place is what keeps others' memory there. */
static int take_place(struct session *session)
{
    struct judge *judge = session->judge;
    int most = (int)judge->options.settings->gpu_at_once;
    int places = session->alone ? most : 1;
    struct err err;
    if (!session->unit || session->places > 0)
        return 0;
    int64_t start_ns = clock_now_ns();
    int result = gpu_pool_take_slots(&judge->gpus, session->unit, places, most, session->cancelled,
                                     &err);
    session->verdict->stages_ms[STAGE_QUEUE] += clock_ms_since(start_ns);
    if (result < 0)
        return fault_judge(session, &err);
    session->places = places;
    look_for_processes(session);
    if (session->alone)
        clear_others(session);
    return 0;
}

static void leave_place(struct session *session)
{
    if (session->places == 0)
        return;
    gpu_pool_free_slots(&session->judge->gpus, session->unit, session->places);
    session->places = 0;
    look_for_processes(session);
}

/* So many, and one for the reference where none stands ready. */
static void reserve(struct session *session, uint32_t wanted)
{
    struct judge *judge = session->judge;
    struct warm_pool *pool = judge_warm_pool(judge, session->unit, session->kind);
    int64_t start_ns = clock_now_ns();
    wanted += !session_reference_ready(session);
    while (pool && session->reserved_count < wanted &&
           warm_pool_take(pool, session->cancelled, &session->reserved[session->reserved_count]))
        session->reserved_count++;
    session->verdict->stages_ms[STAGE_QUEUE] += clock_ms_since(start_ns);
}

const struct sandboxed *session_reserved(struct session *session)
{
    return session->reserved_count > 0 ? &session->reserved[--session->reserved_count] : NULL;
}

int session_enter(struct session *session, enum sandbox_kind kind)
{
    if (!session->gpu) /* a CPU is shared from the start, because compiling disturbs timing */
        return 0;
    session->kind = kind;
    if (take_place(session) < 0)
        return -1;
    reserve(session, 1);
    return session_share(session);
}

int session_share(struct session *session)
{
    int result = take_lock(session, session->alone ? DEVICE_EXCLUSIVE : DEVICE_SHARED);
    session->shares = result == 0;
    return result;
}

int session_have_alone(struct session *session)
{
    session_let_go(session);
    session->shares = false;
    return take_lock(session, DEVICE_EXCLUSIVE);
}

bool session_share_no_more(struct session *session)
{
    bool shared = session->gpu && session->shares;
    if (shared) {
        session_let_go(session);
        if (session->loads)
            session_rest_reference(session);
        leave_place(session);
    }
    return shared;
}

void session_share_again(struct session *session, bool shared)
{
    if (!shared)
        return;
    int result = take_place(session);
    if (result == 0)
        reserve(session, 0);
    if (result < 0 || session_share(session) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "the device was not taken again: cancelled");
}

void session_leave(struct session *session)
{
    while (session->reserved_count > 0)
        sandboxed_close(&session->reserved[--session->reserved_count]);
    session_let_go(session);
    leave_place(session);
}
