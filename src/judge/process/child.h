/* child: one of the two processes of an evaluation, seen from the judge.
 *
 * child_open starts it in a sandbox and hands it what it is to run. child_map gives it a fresh block of
 * slot memory, of which the judge keeps a mapping. child_call lets it run for exactly one call:
 *
 *   frozen ─ send CALL ─ clock ─ thaw ─ … ─ DONE ─ sample outputs ─ clock ─ freeze ─ sample again
 *
 * The child runs only within child_call (and while loading). Ownership: the caller's storage;
 * child_close kills the process and frees everything; safe on a zeroed struct. One thread at a time.
 */
#ifndef WARPGYM_JUDGE_PROCESS_CHILD_H
#define WARPGYM_JUDGE_PROCESS_CHILD_H

#include "base/err.h"
#include "device/gpu_memory.h"
#include "judge/gpu/gpu_work.h"
#include "judge/process/cpu_affinity.h"
#include "judge/process/shared_memory.h"
#include "judge/process/wire.h"
#include "sandbox/standby.h"

#include <stdbool.h>

#define CHILD_SAMPLES 32
#define CHILD_SAMPLE_BYTES 64

/* One output as the judge sees it after a call. Either is valid until the child's next call, map or
 * close. */
struct tensor {
    uint32_t dtype, dimensions;
    int64_t shape[LIMIT_DIMENSIONS];
    uint64_t count, bytes;
    const void *data; /* NULL: it lies on the GPU */
    cuda_at at;       /* there, in the judge's context */
};

/* Compiles what a torch child asks for. Returns a descriptor of the shared
 * object (the caller closes it), or negative with the compiler's words in `err`. */
struct child_builder {
    int (*build)(struct child_builder *self, const char *request, size_t bytes, char *text,
                 size_t text_bytes);
    void *context; /* of `build` */
};

struct child_sample {
    uint32_t output;
    uint64_t offset;
    uint64_t bytes;
    unsigned char data[CHILD_SAMPLE_BYTES];
    bool taken;
};

#define CHILD_SEGMENTS 4096
#define CHILD_BUILDS_NS (INT64_C(600) * 1000000000) /* that its deadlines move by, in all */

/* GPU memory of a torch child, in which its tensors lie. */
struct child_segment {
    uint64_t address; /* where the child sees it; 0: free */
    struct gpu_memory memory;
};

/* What a CUDA context takes of this machine's memory, with all that libraries put beside it. */
#define CHILD_CONTEXT_BYTES ((uint64_t)1 << 30)

/* How much of this machine's memory it may hold: memory_limit.c. */
struct memory_limit {
    uint64_t own_bytes;           /* for itself: as far as settings and arguments go */
    uint64_t most_bytes;          /* in all; 0: its sandbox sees to it */
    int64_t looked_ns, family_ns; /* when it was looked at; when at its children, too */
};

enum child_kind {
    CHILD_TORCH,   /* outputs lie in its own memory, and it may send requests */
    CHILD_NATIVE,  /* outputs lie in the slot, whatever it says */
    CHILD_PROGRAM, /* likewise; a language's from outside */
};

enum child_state {
    CHILD_CLOSED,
    CHILD_LOADING, /* it has not answered OPEN yet */
    CHILD_READY,   /* between calls */
    CHILD_BUSY,    /* it was asked something, and its answer is not here yet */
    CHILD_FAILED,  /* it could not be opened */
};

/* What a child did between calls, when it is not to run at all. */
enum child_breach {
    CHILD_KEPT_STILL,
    CHILD_SPOKE, /* it sent a message that nothing had asked for */
    CHILD_LATE,  /* its outputs changed after DONE */
};

struct child {
    enum child_state state;
    struct sandboxed process;
    struct memory_limit hold;
    char *scratch; /* host directory to remove with the child; NULL: none */
    uint32_t role; /* enum wire_role */
    enum child_kind kind;
    const _Atomic int *cancelled;
    const struct cpu_affinity *affinity; /* NULL: its calls are not timed; the caller's */
    struct layout layout;
    uint32_t slots;                /* of that layout, one behind the other */
    uint32_t calls;                /* of the first so many, where it is native; 0: of all */
    struct shared slot, oracle;    /* a layout may use less of them */
    const struct gpu_context *gpu; /* the caller's; NULL: it computes on the CPU, in the slot */
    const struct gpu_work *work;   /* the caller's: the judge's kernels; NULL: none */
    int64_t clock_ns;  /* the caller's: when the next call's clock started; 0: it starts then */
    int64_t inputs_ns; /* the caller's: when its inputs were there */
    int trace;         /* the caller's: where WIRE_TRACE records to */
    bool stays_on_gpu; /* the caller's: the mirror is not wanted after a call */
    struct child_builder *builder;  /* the caller's; NULL: it may not ask for builds */
    struct child_segment *segments; /* CHILD_SEGMENTS of them, once there is one */
    uint32_t segment_count;
    int64_t builds_ns;                          /* by which its deadlines have moved */
    void *pinned;                               /* host memory that the GPU writes samples to */
    struct child_sample samples[CHILD_SAMPLES]; /* of the outputs, taken on the clock */
    struct gpu_memory arrays; /* where it computes; the slot is the judge's mirror of it */
    bool mapped;              /* by the child, too */
    struct layout oracle_layout;
    struct wire_done done;
    union wire_message
        *answer; /* where a call's answer is read into: nothing is made on the clock */
    char *buffers[WIRE_OUTPUTS]; /* copies of torch outputs */
    size_t buffer_bytes[WIRE_OUTPUTS];
    struct wire_failed failed; /* failure != FAILED_NONE: what it said of itself */
    enum child_breach breach;
};

struct child_time {
    double ms;        /* from the clock's start to DONE, hand-over included */
    double inputs_ms; /* of that, until its inputs were there; 0: they were there before */
    double sample_ms; /* DONE to samples taken */
    double freeze_us; /* samples taken to stopped */
    double own_ms;    /* the call alone by the child's own clock: its word, and worth no more */
};

/* A language's program from outside: what a sandboxed process becomes, and what it is told: external_program.c.
 */
struct child_program {
    const char *const *argv, *const *environment; /* NULL-terminated */
    const char *const *readable;                  /* in its sandbox; NULL-terminated */
    const struct warpgym_child_open *open;
};

struct child_start {
    struct standby *standby;
    const struct sandbox *sandbox;
    const struct child_program *program; /* sent its own `open` in place of `message`; NULL: none */
    const struct sandboxed
        *process; /* one that is in such a sandbox already (taken over); NULL: none */
    const struct wire_open *message; /* as wire.h has it, with its descriptors (not consumed) */
    const int *descriptors;
    uint32_t descriptor_count;
    int64_t timeout_ms;
    struct child_builder *builder; /* NULL: it may not ask for builds */
    const struct gpu_context *gpu;
    uint64_t memory_bytes; /* of this machine's memory, beyond what it holds now; 0: no bound */
    enum child_kind kind;
    const _Atomic int *cancelled; /* NULL: cannot be cancelled */
};

static inline bool child_has_slot_outputs(const struct child *child)
{
    return child->kind != CHILD_TORCH;
}

/* On WIRE_FAILED the result is ERR_INPUT and child->failed says what the child claims; ERR_MISSING:
 * this machine gives sandboxes no scratch, so start->sandbox must name one. `opened` and
 * `opened_descriptors` (the caller's to close) may be NULL. */
NODISCARD int child_open(struct child *child, const struct child_start *start,
                         struct wire_opened *opened, int opened_descriptors[WIRE_DESCRIPTORS],
                         struct err *err);

/* Memory for `slots` calls is made when there is none that fits, and then with room for the
 * `largest` layout, so that a run over many sizes maps once. */
NODISCARD int child_map(struct child *child, const struct layout *layout,
                        const struct layout *largest, uint32_t slots, bool with_oracle,
                        int64_t timeout_ms, struct err *err);
NODISCARD int child_fill(struct child *child, uint64_t seed, enum wire_shift bias,
                         int64_t timeout_ms, struct err *err);

/* It runs for a moment and uses its GPU, so that a call that follows finds it as any other side. */
NODISCARD int child_wake(struct child *child, uint64_t noise, int64_t timeout_ms, struct err *err);

/* ERR_INPUT (child->failed), ERR_CRASH, ERR_TIMEOUT (killed), ERR_PROTOCOL, ERR_CANCELLED. After
 * success the child is frozen. */
NODISCARD int child_call(struct child *child, uint32_t mode, uint64_t noise, int64_t timeout_ms,
                         struct child_time *time, struct err *err);

/* The mirror, from the GPU; nothing to do on the CPU. */
NODISCARD int child_pull(struct child *child, struct err *err);
/* Whether the samples that were taken on the clock are as they were, wherever the outputs lie. */
bool child_samples_changed(struct child *child);
/* What the judge wrote into the slot goes to where the child computes; nothing to do on the CPU. */
NODISCARD int child_push(struct child *child, struct err *err);

/* Number of outputs of the last call, and one of them. The form alone (torch: without data) costs
 * nothing, whatever the child claims: look at a candidate's before its bytes are copied. */
uint32_t child_output_count(const struct child *child);
NODISCARD int child_output_form(const struct child *child, uint32_t slot, uint32_t index,
                                struct tensor *tensor, struct err *err);
NODISCARD int child_output(struct child *child, uint32_t slot, uint32_t index,
                           struct tensor *tensor, struct err *err);

/* child_request.c. The type of what it asks for right now; 0: nothing, or something else. */
uint32_t child_pending_request(const struct child *child);
/* Answers that. The deadline moves by the time that a build took; ERR_TIMEOUT when it is over. */
NODISCARD int child_serve_request(struct child *child, int64_t *deadline_ns, struct err *err);
/* Where `bytes` bytes lie, in the judge's context; 0: in no memory that the child has told of. */
cuda_at child_locate(const struct child *child, uint64_t address, uint64_t bytes);

/* child.c: one message of that type before the deadline. ERR_INPUT: FAILED came instead
 * (child->failed). `descriptors` are the caller's on success, else there are none. */
NODISCARD int child_expect(struct child *child, uint32_t type, int64_t deadline_ns,
                           union wire_message *message, int descriptors[WIRE_DESCRIPTORS],
                           struct err *err);

/* external_program.c. The sandboxed process becomes the program and says HELLO. ERR_IO: it cannot; no candidate
 * has to do with that. */
NODISCARD int child_run_program(struct child *child, const struct child_program *program,
                                int64_t deadline_ns, struct err *err);
/* Its MAP. */
struct warpgym_child_map;
void external_program_map(const struct child *child, struct warpgym_child_map *map);

/* memory_limit.c. Beyond what the child holds when it begins, it may hold so much, and a context; 0: its sandbox
 * bounds it. A child that holds more is killed: ERR_INPUT, and child->failed says so. */
void child_limit_memory(struct child *child, uint64_t own_bytes);
NODISCARD int child_check_memory(struct child *child, struct err *err);
/* The same, unless that was only just done. */
NODISCARD int child_watch_memory(struct child *child, struct err *err);
/* How long to wait at most until the next look. */
int child_watch_ms(const struct child *child, int left_ms);

/* Its channel is at its end: ERR_CRASH with how the process ended, or ERR_PROTOCOL where it lives.
   */
int child_explain_end(struct child *child, struct err *err);
/* Keeps a FAILED message, made safe to print and to index by. */
void child_take_failure(struct child *child, const struct wire_failed *failed);

/* It is stopped, and nothing of its caller's is left in it. False: it is in the middle of
 * something, or gone, and nobody can call it again. */
bool child_rest(struct child *child);

void child_close(struct child *child);

#endif
