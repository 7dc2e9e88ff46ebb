#include "judge/gpu/memory_gate.h"

#include "base/clock.h"

#define TICK_MS 50

void memory_gate_init(struct memory_gate *gate, uint64_t (*available)(void))
{
    *gate = (struct memory_gate){.available = available};
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

void memory_gate_deinit(struct memory_gate *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

/* With the lock. */
static bool fits(const struct memory_gate *gate, uint64_t bytes)
{
    if (gate->promised == 0)
        return true;
    if (bytes == MEMORY_GATE_ALL || gate->promised == MEMORY_GATE_ALL)
        return false;
    return gate->capacity == 0 ||
           (gate->promised <= gate->capacity && bytes <= gate->capacity - gate->promised &&
            bytes <= gate->available());
}

static void enter(struct memory_gate *gate, uint64_t bytes, struct memory_pass *pass)
{
    if (gate->promised == 0 && bytes >= MEMORY_GATE_LARGE)
        gate->capacity = gate->available();
    *pass = (struct memory_pass){.inside = true,
                                 .bytes = bytes >= MEMORY_GATE_LARGE ? bytes : 0,
                                 .entered = ++gate->entered,
                                 .beside = gate->inside > 0};
    gate->inside++;
    gate->promised += pass->bytes;
}

int memory_gate_take(struct memory_gate *gate, uint64_t bytes, struct memory_pass *pass,
                     const _Atomic int *cancelled, struct err *err)
{
    struct waiter self;
    int result = 0;
    if (pass->inside)
        return 0;
    pthread_mutex_lock(&gate->lock);
    waiters_join(&gate->first, &self);
    while (result == 0 && bytes >= MEMORY_GATE_LARGE &&
           (gate->first != &self || !fits(gate, bytes))) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&gate->changed, &gate->lock, &until);
        if (cancelled && *cancelled)
            result = err_set(err, ERR_CANCELLED, "cancelled while waiting for memory");
    }
    if (result == 0)
        enter(gate, bytes, pass);
    waiters_leave(&gate->first, &self);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
    return result;
}

bool memory_gate_grow(struct memory_gate *gate, uint64_t bytes, struct memory_pass *pass)
{
    bool small = bytes < MEMORY_GATE_LARGE;
    if (bytes <= pass->bytes || !pass->inside)
        return pass->inside;
    pthread_mutex_lock(&gate->lock);
    gate->promised -= pass->bytes;
    bool grows = small || (!gate->first && fits(gate, bytes));
    if (grows && !small) {
        if (gate->promised == 0)
            gate->capacity = gate->available();
        pass->bytes = bytes;
    }
    gate->promised += pass->bytes;
    pthread_mutex_unlock(&gate->lock);
    return grows;
}

bool memory_gate_was_shared(struct memory_gate *gate, const struct memory_pass *pass)
{
    pthread_mutex_lock(&gate->lock);
    bool shared = pass->inside && (pass->beside || gate->entered != pass->entered);
    pthread_mutex_unlock(&gate->lock);
    return shared;
}

void memory_gate_give(struct memory_gate *gate, struct memory_pass *pass)
{
    if (!pass->inside)
        return;
    pthread_mutex_lock(&gate->lock);
    gate->inside--;
    gate->promised -= pass->bytes;
    *pass = (struct memory_pass){0};
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
