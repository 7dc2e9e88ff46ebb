/* child: one of the two processes of an evaluation, the reference or the candidate, as the judge
 * sees it.
 *
 * child_open starts it in a sandbox and gives it what it is to run. child_map gives it a fresh
 * block of slot memory, of which the judge keeps a mapping. child_call (call.h) lets it run for
 * exactly one call; the child runs only then, and while it answers another message. Whatever it is
 * that takes it long, the device is its session's only in turns (device/turn.h).
 *
 *   CLOSED ─ open ─► LOADING ─► READY ─ message ─► BUSY ─ answer ─► READY
 *                       └─► FAILED                  └─ no answer: it stays BUSY until it is closed
 *
 * Ownership: the caller's storage; child_close kills the process and frees everything; safe on a
 * zeroed struct. Threads: one at a time. Errors: ERR_INPUT: the child answered FAILED, and
 * child->failed says what it claims; ERR_CRASH, ERR_TIMEOUT, ERR_PROTOCOL, ERR_CANCELLED.
 */
#pragma once

#include "base/err.h"
#include "device/gpu_memory.h"
#include "judge/gpu/device_lease.h"
#include "judge/gpu/gpu_work.h"
#include "judge/process/child_request.h"
#include "judge/process/cpu_affinity.h"
#include "judge/process/memory_watch.h"
#include "judge/process/output.h"
#include "judge/process/shared_memory.h"
#include "judge/process/wire.h"
#include "judge/request/time_limit.h"
#include "sandbox/standby.h"

#include <stdbool.h>

#define CHILD_DELAY_NS INT64_C(120000000000)

enum child_kind {
    CHILD_TORCH,   /* outputs lie in its own memory, and it may send requests */
    CHILD_NATIVE,  /* outputs lie in the slot, whatever it says */
    CHILD_PROGRAM, /* likewise; the program of a language from outside: external_program.h */
};

enum child_state {
    CHILD_CLOSED,
    CHILD_LOADING, /* it has not answered OPEN yet */
    CHILD_READY,   /* it waits for a message */
    CHILD_BUSY,    /* it was sent one, and its answer is not here yet */
    CHILD_FAILED,  /* it could not be opened */
};

/* What a child did although it was not to run. */
enum child_breach {
    CHILD_KEPT_STILL,
    CHILD_UNREQUESTED, /* it sent a message that nothing had asked for */
    CHILD_LATE,        /* its outputs changed after DONE */
};

/* With a child that has an answer to give: child_late. */
struct child_delay {
    int64_t used_ns, delayed_ns; /* of its process, when it was last asked for one */
    int64_t left_ns;             /* that its deadlines may still move by */
    const char *step;            /* static */
    struct time_limit limit;     /* of it */
};

struct child {
    /* fixed while it is open */
    enum child_kind kind;
    struct sandboxed process;
    char *scratch;                 /* host directory to remove with the child; NULL: none */
    const struct gpu_context *gpu; /* the caller's; NULL: it computes on the CPU, in the slot */
    bool trusted;                  /* no code of a candidate runs in it */
    union wire_message *answer;    /* answers are read into it: nothing is made on the clock */
    /* the caller's */
    const _Atomic int *cancelled;        /* NULL: it cannot be cancelled */
    const struct gpu_work *work;         /* the judge's kernels; NULL: none */
    const struct cpu_affinity *affinity; /* NULL: its calls are not timed */
    struct device_lease *lease;          /* of what it runs on; NULL: it makes no way */
    /* how it fares */
    enum child_state state;
    enum child_breach breach;
    bool prepared;             /* for its next call: child_prepare_call */
    struct wire_failed failed; /* failure != FAILED_NONE: what it said of itself */
    struct memory_watch limit;
    struct child_requests requests;
    struct child_delay delay;
    int64_t yields_from_ns; /* before that it does not make way */
    int64_t away_ns;        /* for how long it stood still there to make way */
    /* arguments of its calls: child_map */
    struct layout layout, oracle_layout;
    uint32_t slots;             /* of that layout, one behind the other */
    struct shared slot, oracle; /* a layout may use less of them */
    struct gpu_memory arrays; /* where it computes on a GPU; the slot is the judge's mirror of it */
    bool mapped;              /* it has mapped the memory, too */
    /* answers of the last call: output.h */
    struct child_outputs outputs;
};

struct child_program; /* external_program.h */

struct child_start {
    enum child_kind kind;
    struct standby *standby;
    const struct sandbox *sandbox;
    const struct sandboxed *process;     /* in such a sandbox already, taken over; NULL: none */
    const struct child_program *program; /* CHILD_PROGRAM: its own `open` replaces `message` */
    const struct wire_open *message;     /* as wire.h has it, with its descriptors (not consumed) */
    const int *descriptors;
    uint32_t descriptor_count;
    struct time_limit limit;
    struct child_builder *builder; /* NULL: it may not request builds */
    const struct gpu_context *gpu;
    const struct gpu_work *work; /* as struct child has it */
    struct device_lease *lease;
    uint64_t memory_bytes; /* of this machine's memory, beyond what it holds now; 0: no bound */
    const _Atomic int *cancelled; /* NULL: it cannot be cancelled */
    bool trusted; /* it gets no candidate; so are references, and those that only launch kernels */
};

static inline bool child_has_slot_outputs(const struct child *child)
{
    return child->kind != CHILD_TORCH;
}

/* How long to wait for it until it has to be looked at: child_make_way, its memory, its deadline.
 */
int child_wait_ms(const struct child *child, int64_t deadline_ns);
/* It begins to work on an answer: "loading", say. */
void child_expect_answer(struct child *child, const char *step, const struct time_limit *limit);
/* Whether its time is up. Where it has waited for a processor for longer than it had one, because
 * the machine is busy, its deadline moves by that; by CHILD_DELAY_NS at the most, in all.
 * Threads of its own that compete with its first one use processors, and gain it nothing. */
bool child_late(struct child *child, int64_t *deadline_ns);
/* ERR_TIMEOUT, with the step and its limit. */
int child_timed_out(const struct child *child, struct err *err);
/* How many it may use. */
int child_processors(const struct child *child);
/* Where others are to have the device now, it is stopped until they have had their turns, and its
 * deadline moves. One that computes on a GPU goes on while anything is computed there, since that
 * does not stop with it, and while it is timed. */
NODISCARD int child_make_way(struct child *child, int64_t *deadline_ns, struct err *err);
/* Keeps a FAILED message, made safe to print and to index by. What such a child cannot honestly
 * report becomes FAILED_LOAD or FAILED_RUN; that something is unsupported is said in the judge's
 * words. */
void child_take_failure(struct child *child, const struct wire_failed *failed);
/* One message of that type before the deadline. `descriptors` are the caller's on success, else
 * there are none. */
NODISCARD int child_expect(struct child *child, uint32_t type, int64_t deadline_ns,
                           union wire_message *message, int descriptors[WIRE_DESCRIPTORS],
                           struct err *err);

/* ERR_MISSING: this machine gives sandboxes no scratch, so start->sandbox must name one. `opened`
 * may be NULL. */
NODISCARD int child_open(struct child *child, const struct child_start *start,
                         struct wire_opened *opened, struct err *err);

/* What the judge wrote into the slot goes to where the child computes, and back. Nothing to do on
 * the CPU. */
NODISCARD int child_push(struct child *child, struct err *err);
NODISCARD int child_pull(struct child *child, struct err *err);

/* Memory for `slots` calls. If none fits, it is made with room for the `largest` layout, so that a
 * run over many sizes maps once. */
NODISCARD int child_map(struct child *child, const struct layout *layout,
                        const struct layout *largest, uint32_t slots, bool with_oracle,
                        struct time_limit limit, struct err *err);
NODISCARD int child_fill(struct child *child, uint64_t seed, enum wire_shift shift,
                         struct time_limit limit, struct err *err);
/* It runs for a moment and uses its GPU, so that a call that follows finds it as any other.
 * `warm_ups`, `poison`: struct wire_wake. */
NODISCARD int child_wake(struct child *child, uint32_t warm_ups, bool poison,
                         struct time_limit limit, struct err *err);

/* Stops it and takes back what is its caller's. False: it is busy or gone, and cannot be called
 * again. */
bool child_rest(struct child *child);
void child_close(struct child *child);
