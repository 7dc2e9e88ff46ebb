/* side: one of the two processes of an evaluation, seen from the judge.
 *
 * side_open starts it in a box and hands it what it is to run. side_map gives it a fresh block of
 * slot memory, of which the judge keeps a mapping. side_call lets it run for exactly one call:
 *
 *   frozen ─ send CALL ─ clock ─ thaw ─ … ─ DONE ─ sample outputs ─ clock ─ freeze ─ sample again
 *
 * The side runs only within side_call (and while loading). Ownership: the caller's storage;
 * side_close kills the process and frees everything; safe on a zeroed struct. One thread at a time.
 */
#ifndef WARPGYM_JUDGE_SIDE_H
#define WARPGYM_JUDGE_SIDE_H

#include "base/err.h"
#include "device/gpu_memory.h"
#include "judge/gpu_work.h"
#include "judge/seat.h"
#include "judge/shared.h"
#include "judge/wire.h"
#include "sandbox/standby.h"

#include <stdbool.h>

#define SIDE_SAMPLES 32
#define SIDE_SAMPLE_BYTES 64

/* One output as the judge sees it after a call. Either is valid until the side's next call, map or
 * close. */
struct tensor {
    uint32_t dtype, dimensions;
    int64_t shape[LIMIT_DIMENSIONS];
    uint64_t count, bytes;
    const void *data; /* NULL: it lies on the GPU */
    cuda_at at;       /* there, in the judge's context */
};

/* Compiles what a torch side asks for. Returns a descriptor of the shared
 * object (the caller closes it), or negative with the compiler's words in `err`. */
struct side_builder {
    int (*build)(struct side_builder *self, const char *request, size_t bytes, char *text,
                 size_t text_bytes);
};

struct side_sample {
    uint32_t output;
    uint64_t offset;
    uint64_t bytes;
    unsigned char data[SIDE_SAMPLE_BYTES];
    bool taken;
};

#define SIDE_SEGMENTS 4096
#define SIDE_BUILDS_NS (INT64_C(600) * 1000000000) /* that its deadlines move by, in all */

/* GPU memory of a torch side, in which its tensors lie. */
struct side_segment {
    uint64_t address; /* where the side sees it; 0: free */
    struct gpu_memory memory;
};

/* What a CUDA context takes of this machine's memory, with all that libraries put beside it. */
#define SIDE_CONTEXT_BYTES ((uint64_t)1 << 30)

/* How much of this machine's memory it may hold: hold.c. */
struct side_hold {
    uint64_t own_bytes;           /* for itself: as far as settings and arguments go */
    uint64_t most_bytes;          /* in all; 0: its box sees to it */
    int64_t looked_ns, family_ns; /* when it was looked at; when at its children, too */
};

struct side {
    struct boxed boxed;
    struct side_hold hold;
    char *scratch;     /* host directory to remove with the side; NULL: none */
    uint32_t role;     /* enum wire_role */
    bool slot_outputs; /* native: outputs lie in the slot, whatever the side says */
    bool program;      /* a language's from outside */
    const _Atomic int *cancelled;
    const struct seat *seat; /* NULL: its calls are not timed; the caller's */
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
    struct side_builder *builder;  /* the caller's; NULL: it may not ask for builds */
    struct side_segment *segments; /* SIDE_SEGMENTS of them, once there is one */
    uint32_t segment_count;
    int64_t builds_ns;                        /* by which its deadlines have moved */
    void *pinned;                             /* host memory that the GPU writes samples to */
    struct side_sample samples[SIDE_SAMPLES]; /* of the outputs, taken on the clock */
    struct gpu_memory arrays; /* where it computes; the slot is the judge's mirror of it */
    bool mapped;              /* by the side, too */
    struct layout oracle_layout;
    struct wire_done done;
    union wire_message
        *answer; /* where a call's answer is read into: nothing is made on the clock */
    char *buffers[WIRE_OUTPUTS]; /* copies of torch outputs */
    size_t buffer_bytes[WIRE_OUTPUTS];
    struct wire_failed failed; /* failure != FAILED_NONE: what it said of itself */
    bool late;                 /* outputs changed after DONE */
    bool spoke;                /* said something between calls */
    bool answers;              /* was asked something, and its answer is not here yet */
};

struct side_time {
    double ms;        /* from the clock's start to DONE, hand-over included */
    double inputs_ms; /* of that, until its inputs were there; 0: they were there before */
    double sample_ms; /* DONE to samples taken */
    double freeze_us; /* samples taken to stopped */
    double own_ms;    /* the call alone by the side's own clock: its word, and worth no more */
};

/* A language's program from outside: what a boxed process becomes, and what it is told: program.c.
 */
struct side_program {
    const char *const *argv, *const *environment; /* NULL-terminated */
    const char *const *readable;                  /* in its box; NULL-terminated */
    const struct warpgym_side_open *open;
};

struct side_start {
    struct standby *standby;
    const struct box *box;
    const struct side_program *program; /* sent its own `open` in place of `message`; NULL: none */
    const struct boxed *boxed; /* one that is in such a box already (taken over); NULL: none */
    const struct wire_open *message; /* as wire.h has it, with its descriptors (not consumed) */
    const int *descriptors;
    uint32_t descriptor_count;
    int64_t timeout_ms;
    struct side_builder *builder; /* NULL: it may not ask for builds */
    const struct gpu_context *gpu;
    uint64_t hold_bytes; /* of this machine's memory, beyond what it holds now; 0: no bound */
    bool slot_outputs;   /* native */
    const _Atomic int *cancelled; /* NULL: cannot be cancelled */
};

/* On WIRE_FAILED the result is ERR_INPUT and side->failed says what the side claims; ERR_MISSING:
 * this machine gives boxes no scratch, so start->box must name one. `opened` and
 * `opened_descriptors` (the caller's to close) may be NULL. */
NODISCARD int side_open(struct side *side, const struct side_start *start,
                        struct wire_opened *opened, int opened_descriptors[WIRE_DESCRIPTORS],
                        struct err *err);

/* Memory for `slots` calls is made when there is none that fits, and then with room for the
 * `largest` layout, so that a run over many sizes maps once. */
NODISCARD int side_map(struct side *side, const struct layout *layout, const struct layout *largest,
                       uint32_t slots, bool with_oracle, int64_t timeout_ms, struct err *err);
NODISCARD int side_fill(struct side *side, uint64_t seed, enum wire_bias bias, int64_t timeout_ms,
                        struct err *err);

/* It runs for a moment and uses its GPU, so that a call that follows finds it as any other side. */
NODISCARD int side_wake(struct side *side, uint64_t noise, int64_t timeout_ms, struct err *err);

/* ERR_INPUT (side->failed), ERR_CRASH, ERR_TIMEOUT (killed), ERR_PROTOCOL, ERR_CANCELLED. After
 * success the side is frozen. */
NODISCARD int side_call(struct side *side, uint32_t mode, uint64_t noise, int64_t timeout_ms,
                        struct side_time *time, struct err *err);

/* The mirror, from the GPU; nothing to do on the CPU. */
NODISCARD int side_pull(struct side *side, struct err *err);
/* Whether the samples that were taken on the clock are as they were, wherever the outputs lie. */
bool side_samples_changed(struct side *side);
/* What the judge wrote into the slot goes to where the side computes; nothing to do on the CPU. */
NODISCARD int side_push(struct side *side, struct err *err);

/* Number of outputs of the last call, and one of them. The form alone (torch: without data) costs
 * nothing, whatever the side claims: look at a candidate's before its bytes are copied. */
uint32_t side_output_count(const struct side *side);
NODISCARD int side_output_form(const struct side *side, uint32_t slot, uint32_t index,
                               struct tensor *tensor, struct err *err);
NODISCARD int side_output(struct side *side, uint32_t slot, uint32_t index, struct tensor *tensor,
                          struct err *err);

/* ask.c. The type of what it asks for right now; 0: nothing, or something else. */
uint32_t side_asks(const struct side *side);
/* Answers that. The deadline moves by the time that a build took; ERR_TIMEOUT when it is over. */
NODISCARD int side_serve(struct side *side, int64_t *deadline_ns, struct err *err);
/* Where `bytes` bytes lie, in the judge's context; 0: in no memory that the side has told of. */
cuda_at side_locate(const struct side *side, uint64_t address, uint64_t bytes);

/* side.c: one message of that type before the deadline. ERR_INPUT: FAILED came instead
 * (side->failed). `descriptors` are the caller's on success, else there are none. */
NODISCARD int side_expect(struct side *side, uint32_t type, int64_t deadline_ns,
                          union wire_message *message, int descriptors[WIRE_DESCRIPTORS],
                          struct err *err);

/* program.c. The boxed process becomes the program and says HELLO. ERR_IO: it cannot; no candidate
 * has to do with that. */
NODISCARD int side_become(struct side *side, const struct side_program *program,
                          int64_t deadline_ns, struct err *err);
/* Its MAP. */
struct warpgym_side_map;
void side_describe_map(const struct side *side, struct warpgym_side_map *map);

/* hold.c. Beyond what the side holds when it begins, it may hold so much, and a context; 0: its box
 * bounds it. A side that holds more is killed: ERR_INPUT, and side->failed says so. */
void side_hold_begin(struct side *side, uint64_t own_bytes);
NODISCARD int side_hold_check(struct side *side, struct err *err);
/* The same, unless that was only just done. */
NODISCARD int side_hold_look(struct side *side, struct err *err);
/* How long to wait at most until the next look. */
int side_hold_tick_ms(const struct side *side, int left_ms);

/* Its channel is at its end: ERR_CRASH with how the process ended, or ERR_PROTOCOL where it lives.
   */
int side_explain_end(struct side *side, struct err *err);
/* Keeps a FAILED message, made safe to print and to index by. */
void side_take_failure(struct side *side, const struct wire_failed *failed);

/* It is stopped, and nothing of its caller's is left in it. False: it is in the middle of
 * something, or gone, and nobody can call it again. */
bool side_rest(struct side *side);

void side_close(struct side *side);

#endif
