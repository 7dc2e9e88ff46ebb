/* output: what a child answered, and samples of it that were taken on the clock.
 *
 *   native            outputs lie in the slot; on a GPU in `arrays`, mirrored by the slot
 *   torch, CPU        in the child's own memory: read through the kernel
 *   torch, GPU        in segments that the child has announced (child_request.h)
 *
 * A child's word on its outputs (wire_done) is a claim: it is checked before it gets here
 * (wire_check_done), and addresses are only read through the kernel or looked up among segments.
 *
 * Ownership: child_close frees all. Threads: the child's session.
 */
#pragma once

#include "base/err.h"
#include "device/cuda.h"
#include "judge/process/wire.h"

#include <stdbool.h>

#define CHILD_SAMPLES 32
#define CHILD_SAMPLE_BYTES 64

struct child;

/* One output as the judge sees it after a call. Valid until the child's next call, map or close. */
struct tensor {
    uint32_t dtype, dimensions;
    bool complex; /* the last dimension holds the two parts of each number */
    int64_t shape[LIMIT_DIMENSIONS];
    uint64_t count, bytes;
    const void *data; /* NULL: it lies on the GPU */
    cuda_at at;       /* there, in the judge's context */
};

struct child_sample {
    uint32_t output;
    uint64_t offset;
    uint64_t bytes;
    unsigned char data[CHILD_SAMPLE_BYTES];
    bool taken;
};

struct child_outputs {
    struct wire_done done;                      /* what it said of them */
    struct child_sample samples[CHILD_SAMPLES]; /* taken on the clock */
    const struct child_sample *hidden;          /* lay where nothing could be read; NULL: none */
    void *pinned;                               /* host memory that the GPU writes samples to */
    char *buffers[WIRE_OUTPUTS];                /* copies of torch outputs */
    size_t buffer_bytes[WIRE_OUTPUTS];
};

/* Of a verdict. */
#define CHILD_LATE_TEXT "its outputs changed, or could only be read, after it said that it was done"

/* Frees the copies of its outputs. */
void child_forget_outputs(struct child *child);
/* What sampling needs on a GPU, made ahead of the clock. */
NODISCARD int child_prepare_samples(struct child *child, struct err *err);
/* Samples at random places of random outputs, which the judge draws after DONE. */
void child_take_samples(struct child *child);
/* Whether they differ from what lies there now, or can be read only now. `on_gpu`: look at the
 * GPU's memory, although there is a mirror. */
bool child_samples_changed(struct child *child, bool on_gpu);

/* By how much a child's copies grow when they take outputs like those of `of`, which may be itself:
 * of torch outputs on the CPU, else 0. */
uint64_t child_copies_grow(const struct child *child, const struct child *of);

/* Number of outputs of the last call, and one of them. The form alone (torch: without data) costs
 * nothing, whatever the child claims: look at a candidate's before its bytes are copied. */
uint32_t child_output_count(const struct child *child);
NODISCARD int child_output_form(const struct child *child, uint32_t slot, uint32_t index,
                                struct tensor *tensor, struct err *err);
NODISCARD int child_output(struct child *child, uint32_t slot, uint32_t index,
                           struct tensor *tensor, struct err *err);
