#include "judge/child/segments.h"

#include "device/gpu_memory.h"
#include "judge/process/wire.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define SEGMENTS_MAX 4096
#define UNIT_BYTES (UINT64_C(2) << 20) /* of which PyTorch asks for some */
#define LARGE_BYTES (UINT64_C(16) << 20)
#define CHUNK_BYTES (UINT64_C(2) << 30) /* at most, but for one piece that is larger */
#define DOUBLINGS_MAX 8

/* Memory made at once, for one piece or several that follow each other in it. */
struct chunk {
    struct gpu_memory memory; /* no address: free */
    uint64_t used;            /* bytes of it that were given out */
    uint32_t pieces;          /* that have not come back */
};

static struct {
    pthread_mutex_t lock;
    int channel;
    struct gpu_context gpu;
    struct gpu_memory slots;
    struct chunk chunks[SEGMENTS_MAX];
    struct chunk *newest;
    uint64_t last_bytes; /* what was asked for last, and how many chunks were made for that */
    unsigned doublings;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .channel = -1};

int segments_open(int channel, const char *driver, char *text, size_t text_bytes)
{
    struct err err = {0};
    pool.channel = channel;
    int result = gpu_context_open(&pool.gpu, driver, 0, &err);
    if (result < 0)
        snprintf(text, text_bytes, "%s", err.text);
    return result;
}

static int announce_segment(struct gpu_memory *segment, struct err *err)
{
    struct wire_segment message = {.type = WIRE_SEGMENT,
                                   .address = segment->address,
                                   .bytes = segment->bytes};
    int result = wire_send(pool.channel, &message, sizeof message, &segment->fd, 1, err);
    close(segment->fd);
    segment->fd = -1;
    return result;
}

/* What a library does without it (another algorithm, slower, or rounding otherwise) is no matter of
 * the model's. */
static void announce_missing(uint64_t bytes)
{
    struct wire_segment message = {.type = WIRE_SEGMENT, .bytes = bytes};
    struct err ignored;
    (void)!wire_send(pool.channel, &message, sizeof message, NULL, 0, &ignored);
}

static struct chunk *find_chunk(uint64_t address)
{
    for (int i = 0; i < SEGMENTS_MAX; i++)
        if (address >= pool.chunks[i].memory.address &&
            address < pool.chunks[i].memory.address + pool.chunks[i].memory.bytes)
            return &pool.chunks[i];
    return NULL;
}

static struct chunk *find_free(void)
{
    for (int i = 0; i < SEGMENTS_MAX; i++)
        if (!pool.chunks[i].memory.address)
            return &pool.chunks[i];
    return NULL;
}

/* Repeated requests for the same size (an output of each call) get twice as much each time. */
static uint64_t chunk_bytes(uint64_t bytes)
{
    bool again = bytes == pool.last_bytes && bytes >= LARGE_BYTES;
    pool.doublings = again ? pool.doublings + (pool.doublings < DOUBLINGS_MAX) : 0;
    pool.last_bytes = bytes;
    uint64_t most = CHUNK_BYTES / bytes;
    uint64_t pieces = UINT64_C(1) << pool.doublings;
    pieces = pieces < most ? pieces : most;
    return bytes * (pieces ? pieces : 1);
}

static bool make_segment(struct chunk *chunk, uint64_t bytes)
{
    struct err ignored;
    *chunk = (struct chunk){0};
    if (gpu_memory_make(&chunk->memory, &pool.gpu, bytes, &ignored) == 0 &&
        announce_segment(&chunk->memory, &ignored) == 0)
        return true;
    gpu_memory_free(&chunk->memory);
    return false;
}

static bool has_space(const struct chunk *chunk, uint64_t bytes)
{
    return chunk && chunk->memory.bytes - chunk->used >= bytes;
}

void *segments_alloc(ssize_t wanted, int device, void *stream)
{
    uint64_t bytes = ((uint64_t)wanted + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    void *address = NULL;
    (void)device, (void)stream;
    if (wanted <= 0)
        return NULL;
    pthread_mutex_lock(&pool.lock);
    if (!has_space(pool.newest, bytes)) {
        struct chunk *chunk = find_free();
        uint64_t all = chunk_bytes(bytes);
        bool made = chunk &&
                    (make_segment(chunk, all) || (all > bytes && make_segment(chunk, bytes)));
        pool.newest = made ? chunk : NULL;
        if (!made && chunk) {
            announce_missing(bytes);
            pool.last_bytes = 0; /* the same again is no more than that */
        }
    }
    struct chunk *chunk = pool.newest;
    if (chunk) {
        address = (void *)(uintptr_t)(chunk->memory.address + chunk->used);
        chunk->used += bytes;
        chunk->pieces++;
    }
    pthread_mutex_unlock(&pool.lock);
    return address;
}

void segments_free(void *address, ssize_t bytes, int device, void *stream)
{
    struct err ignored;
    (void)bytes, (void)device, (void)stream;
    pthread_mutex_lock(&pool.lock);
    struct chunk *chunk = find_chunk((uintptr_t)address);
    if (chunk && --chunk->pieces == 0) {
        struct wire_segment gone = {.type = WIRE_SEGMENT, .address = chunk->memory.address};
        gpu_memory_free(&chunk->memory);
        if (pool.newest == chunk)
            pool.newest = NULL;
        (void)!wire_send(pool.channel, &gone, sizeof gone, NULL, 0, &ignored);
    }
    pthread_mutex_unlock(&pool.lock);
}

bool segments_hold(const void *address)
{
    pthread_mutex_lock(&pool.lock);
    bool held = find_chunk((uintptr_t)address) != NULL;
    pthread_mutex_unlock(&pool.lock);
    return held;
}

uint64_t segments_map(int descriptor, uint64_t bytes)
{
    struct err ignored;
    gpu_memory_free(&pool.slots);
    return gpu_memory_import(&pool.slots, &pool.gpu, descriptor, bytes, &ignored) < 0
               ? 0
               : pool.slots.address;
}
