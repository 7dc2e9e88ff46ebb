/* gpu_memory: memory of a GPU that two processes see, passed on as a file descriptor.
 *
 *   judge: make ─► descriptor ─► child: import       both: the same pages at addresses of their own
 *
 * Made with the driver's virtual memory management (CUDA driver API, cuMemCreate and what follows
 * it). Any holder of the descriptor may map the memory; mappings stay valid after it is closed.
 * Ownership: the caller's storage; zeroed is none; the context must outlive it. Making and freeing
 * make the context the calling thread's; for the others it must be (gpu_context_use).
 */
#pragma once

#include "device/gpu_context.h"

struct gpu_memory {
    const struct gpu_context *gpu; /* NULL: none */
    cuda_at address;
    cuda_handle handle;
    size_t bytes; /* whole allocation units: the size that import needs */
    int fd;       /* -1 where it was imported */
};

/* At least `bytes`; ERR_LIMIT: the device has not so much. */
NODISCARD int gpu_memory_make(struct gpu_memory *memory, const struct gpu_context *gpu,
                              uint64_t bytes, struct err *err);
/* `fd` stays the caller's. */
NODISCARD int gpu_memory_import(struct gpu_memory *memory, const struct gpu_context *gpu, int fd,
                                uint64_t bytes, struct err *err);
void gpu_memory_free(struct gpu_memory *memory);

/* Each is done when it returns. */
NODISCARD int gpu_memory_write(const struct gpu_memory *memory, uint64_t offset, const void *bytes,
                               size_t count, struct err *err);
NODISCARD int gpu_memory_fill(const struct gpu_memory *memory, uint64_t offset, unsigned char value,
                              size_t count, struct err *err);
NODISCARD int gpu_memory_read(const struct gpu_memory *memory, uint64_t offset, void *bytes,
                              size_t count, struct err *err);
