#include "judge/side/segments.h"

#include "device/gpu_memory.h"
#include "judge/wire.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define SEGMENTS_MAX 4096

static struct {
    pthread_mutex_t lock;
    int channel;
    struct gpu_context gpu;
    struct gpu_memory slots;
    struct gpu_memory segments[SEGMENTS_MAX]; /* no address: free */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .channel = -1};

int segments_open(int channel, const char *driver, int ordinal, char *text, size_t text_bytes)
{
    struct err err = {0};
    pool.channel = channel;
    int result = gpu_context_open(&pool.gpu, driver, ordinal, &err);
    if (result < 0)
        snprintf(text, text_bytes, "%s", err.text);
    return result;
}

static int announce(struct gpu_memory *segment, struct err *err)
{
    struct wire_segment message = {.type = WIRE_SEGMENT,
                                   .address = segment->address,
                                   .bytes = segment->bytes};
    int result = wire_send(pool.channel, &message, sizeof message, &segment->fd, 1, err);
    close(segment->fd);
    segment->fd = -1;
    return result;
}

static struct gpu_memory *find(uint64_t address)
{
    for (int i = 0; i < SEGMENTS_MAX; i++)
        if (address >= pool.segments[i].address &&
            address < pool.segments[i].address + pool.segments[i].bytes)
            return &pool.segments[i];
    return NULL;
}

static struct gpu_memory *find_free(void)
{
    for (int i = 0; i < SEGMENTS_MAX; i++)
        if (!pool.segments[i].address)
            return &pool.segments[i];
    return NULL;
}

void *segments_alloc(ssize_t bytes, int device, void *stream)
{
    struct err ignored;
    (void)device, (void)stream;
    pthread_mutex_lock(&pool.lock);
    struct gpu_memory *segment = find_free();
    if (segment && (gpu_memory_make(segment, &pool.gpu, (uint64_t)bytes, &ignored) < 0 ||
                    announce(segment, &ignored) < 0)) {
        gpu_memory_free(segment);
        segment = NULL;
    }
    void *address = segment ? (void *)(uintptr_t)segment->address : NULL;
    pthread_mutex_unlock(&pool.lock);
    return address;
}

void segments_free(void *address, ssize_t bytes, int device, void *stream)
{
    struct wire_segment gone = {.type = WIRE_SEGMENT, .address = (uintptr_t)address};
    struct err ignored;
    (void)bytes, (void)device, (void)stream;
    pthread_mutex_lock(&pool.lock);
    struct gpu_memory *segment = find((uintptr_t)address);
    if (segment) {
        gpu_memory_free(segment);
        (void)!wire_send(pool.channel, &gone, sizeof gone, NULL, 0, &ignored);
    }
    pthread_mutex_unlock(&pool.lock);
}

bool segments_hold(const void *address)
{
    pthread_mutex_lock(&pool.lock);
    bool held = find((uintptr_t)address) != NULL;
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
