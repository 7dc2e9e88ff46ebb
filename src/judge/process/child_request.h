/* child_request: requests of a torch child, which it may send whenever the judge waits for it.
 *
 *   BUILD     something to compile: the child may start no programs
 *   SEGMENT   GPU memory in which its tensors will lie
 *
 * Compiling takes time that is not the child's fault: the deadline moves with it, for as long as
 * the builder builds for it (setting compile.total_ms). Sending requests takes the child's own
 * time, and so does being refused: a child that does nothing else meets its deadline like any
 * other. While something is built the child is stopped.
 *
 * Ownership: a builder is the caller's; segments end with child_close. Threads: the child's
 * session. Errors: ERR_PROTOCOL: a request that no child of ours makes; ERR_TIMEOUT, ERR_CANCELLED,
 * ERR_CRASH.
 */
#pragma once

#include "base/err.h"
#include "device/gpu_memory.h"

#include <stddef.h>
#include <stdint.h>

#define CHILD_SEGMENTS 4096

struct child;

/* Compiles what a torch child requests. Returns a descriptor of sealed memory (the caller closes
 * it), or negative with the compiler's words in `text`; ERR_LIMIT: it has had all that it may. */
struct child_builder {
    int (*build)(struct child_builder *self, const char *request, size_t bytes, char *text,
                 size_t text_bytes);
    void *context; /* of `build` */
};

/* GPU memory of a torch child, in which its tensors lie. */
struct child_segment {
    uint64_t address; /* where the child sees it; 0: free */
    struct gpu_memory memory;
};

/* GPU memory that it was refused. PyTorch frees what it can, and asks again for the same at once:
 * whatever else comes next, it did without. */
struct child_lack {
    uint64_t bytes;   /* the most that it does without; 0: none */
    uint64_t others;  /* that without `refused` */
    uint64_t refused; /* by the last request */
};

struct child_requests {
    struct child_builder *builder;  /* the caller's; NULL: it may not request builds */
    struct child_segment *segments; /* CHILD_SEGMENTS of them, once there is one */
    uint32_t segment_count;
    uint64_t segment_bytes, segment_peak_bytes; /* that it has now, and had at the most */
    struct child_lack lack;
    char *refusal; /* why the judge could not build something here, the last time; NULL */
};

/* The type of the request that is waiting now; 0: none is. */
uint32_t child_pending_request(const struct child *child);
/* Answers it. *deadline_ns moves by the time that a build took; ERR_TIMEOUT when it is over. */
NODISCARD int child_serve_request(struct child *child, int64_t *deadline_ns, struct err *err);
/* Where `bytes` bytes lie, in the judge's context; 0: in no memory that the child has announced. */
cuda_at child_locate(const struct child *child, uint64_t address, uint64_t bytes);
