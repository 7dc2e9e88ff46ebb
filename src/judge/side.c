#include "judge/side.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "judge/oracle.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPAWN_TIMEOUT_MS 20000
#define END_GRACE_MS 1000 /* between a closed channel and the death behind it */
#define BUILD_REQUEST_BYTES ((size_t)2 << 20)

int side_explain_end(struct side *side, struct err *err)
{
    struct pollfd wait = {.fd = side->boxed.pid_fd, .events = POLLIN};
    char how[96];
    if (poll(&wait, 1, END_GRACE_MS) <= 0 || !boxed_ended(&side->boxed))
        return err_set(err, ERR_PROTOCOL, "it closed its channel to the judge");
    boxed_status_text(&side->boxed, how, sizeof how);
    return err_set(err, ERR_CRASH, "the process %s", how);
}

/* Waits for a message, the process's end, the deadline or a cancellation. */
static int await(struct side *side, int64_t deadline_ns, struct err *err)
{
    struct pollfd waits[2] = {{.fd = side->boxed.channel, .events = POLLIN},
                              {.fd = side->boxed.pid_fd, .events = POLLIN}};
    for (;;) {
        int left_ms = clock_left_ms(deadline_ns);
        int ready = poll(waits, 2, left_ms < 200 ? left_ms : 200);
        if (ready < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for a side");
        if (ready > 0 && (waits[0].revents & POLLIN))
            return 0;
        if (ready > 0)
            return side_explain_end(side, err);
        if (side->cancelled && *side->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (left_ms == 0)
            return err_set(err, ERR_TIMEOUT, "no answer in time");
    }
}

static void close_all(int descriptors[WIRE_DESCRIPTORS])
{
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

void side_take_failure(struct side *side, const struct wire_failed *failed)
{
    side->failed = *failed;
    side->failed.text[sizeof side->failed.text - 1] = '\0';
    if (side->failed.failure == FAILED_NONE || side->failed.failure > FAILED_COMPILE)
        side->failed.failure = FAILED_RUN;
}

/* One message of the wanted type, or what came instead. */
static int expect(struct side *side, uint32_t type, int64_t deadline_ns,
                  union wire_message *message, int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    size_t bytes;
    int result = await(side, deadline_ns, err);
    if (result < 0)
        return result;
    result = wire_receive(side->boxed.channel, message, &bytes, descriptors, err);
    if (result == ERR_CRASH || result == ERR_IO)
        return side_explain_end(side, err);
    if (result == 0 && message->type == type)
        return 0;
    close_all(descriptors);
    if (result == 0 && message->type == WIRE_FAILED) {
        side_take_failure(side, &message->failed);
        return err_set(err, ERR_INPUT, "%.600s", side->failed.text);
    }
    return err_set(err, ERR_PROTOCOL, "it sent a message that the protocol does not know");
}

/* A torch candidate wants an extension compiled: its sources come as a file in its scratch. */
static int answer_build(struct side *side, struct side_builder *builder,
                        int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    struct wire_built built = {.type = WIRE_BUILT};
    struct stat facts;
    char *request = NULL;
    size_t bytes = 0;
    int artifact = -1;
    int result = 0;
    if (!builder || descriptors[0] < 0 || fstat(descriptors[0], &facts) < 0 ||
        !S_ISREG(facts.st_mode))
        result = err_set(err, ERR_PROTOCOL, "it asked for a build without sources");
    else
        result = file_read_fd(descriptors[0], "the extension's sources", BUILD_REQUEST_BYTES,
                              &request, &bytes, err);
    close_all(descriptors);
    if (result == 0) {
        artifact = builder->build(builder, request, bytes, built.text, sizeof built.text);
        built.ok = artifact >= 0;
        result = wire_send(side->boxed.channel, &built, sizeof built, &artifact, built.ok, err);
    }
    if (artifact >= 0)
        close(artifact);
    mem_free(request);
    return result;
}

static int finish_open(struct side *side, int64_t deadline_ns, struct side_builder *builder,
                       struct wire_opened *opened, int opened_descriptors[WIRE_DESCRIPTORS],
                       struct err *err)
{
    union wire_message *message = mem_alloc(sizeof *message);
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    int result;
    /* builds first, as many as it asks for within the deadline */
    for (;;) {
        result = await(side, deadline_ns, err);
        if (result < 0)
            goto out;
        struct { uint32_t type; } peek = {0};
        if (recv(side->boxed.channel, &peek, sizeof peek, MSG_PEEK) != sizeof peek ||
            peek.type != WIRE_BUILD)
            break;
        result = wire_receive(side->boxed.channel, message, &bytes, descriptors, err);
        if (result == 0)
            result = answer_build(side, builder, descriptors, err);
        if (result < 0)
            goto out;
    }
    result = expect(side, WIRE_OPENED, deadline_ns, message, descriptors, err);
    if (result < 0)
        goto out;
    side->boxed.layers |= message->opened.layers;
    if (opened)
        *opened = message->opened;
    if (opened_descriptors)
        memcpy(opened_descriptors, descriptors, sizeof descriptors);
    else
        close_all(descriptors);
out:
    mem_free(message);
    return result;
}

int side_open(struct side *side, struct standby *standby, const struct box *box,
              const struct wire_open *message, const int *descriptors, uint32_t count,
              int64_t timeout_ms, struct side_builder *builder, const _Atomic int *cancelled,
              struct wire_opened *opened, int opened_descriptors[WIRE_DESCRIPTORS],
              struct err *err)
{
    memset(side, 0, sizeof *side);
    side->slot_fd = side->oracle_fd = -1;
    side->role = message->role;
    side->cancelled = cancelled;
    int result = standby_spawn(standby, box, SPAWN_TIMEOUT_MS, &side->boxed, err);
    if (result < 0) { /* nothing of this is the candidate's doing */
        side->boxed = (struct boxed){.channel = -1, .pid_fd = -1};
        return err->code == ERR_CANCELLED ? result : err_set(err, ERR_IO, "%s", err->text);
    }
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    result = wire_send(side->boxed.channel, message, sizeof *message, descriptors, count, err);
    if (result == 0)
        result = finish_open(side, deadline_ns, builder, opened, opened_descriptors, err);
    return result;
}

static void unmap(struct side *side)
{
    if (side->slot)
        munmap(side->slot, side->layout.bytes);
    if (side->oracle)
        munmap(side->oracle, side->oracle_bytes);
    if (side->slot_fd >= 0)
        close(side->slot_fd);
    if (side->oracle_fd >= 0)
        close(side->oracle_fd);
    side->slot = side->oracle = NULL;
    side->slot_fd = side->oracle_fd = -1;
}

static char *make_memory(const char *name, size_t bytes, int *fd, struct err *err)
{
    *fd = file_memory(name, bytes, err);
    if (*fd < 0)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, *fd, 0);
    if (memory == MAP_FAILED) {
        err_sys(err, errno, "cannot map %zu bytes for the arguments", bytes);
        return NULL;
    }
    return memory;
}

int side_map(struct side *side, const struct layout *layout, bool with_oracle, int64_t timeout_ms,
             struct err *err)
{
    union wire_message *message = mem_alloc(sizeof *message);
    struct wire_map map = {.type = WIRE_MAP, .layout = *layout};
    int ignored[WIRE_DESCRIPTORS];
    unmap(side);
    side->layout = *layout;
    side->slot = make_memory("slot", layout->bytes, &side->slot_fd, err);
    int result = side->slot ? 0 : ERR_IO;
    if (result == 0 && with_oracle) {
        oracle_layout(layout, &side->oracle_layout);
        side->oracle_bytes = side->oracle_layout.bytes;
        side->oracle = make_memory("oracle", side->oracle_bytes, &side->oracle_fd, err);
        result = side->oracle ? 0 : ERR_IO;
        map.oracle_bytes = side->oracle_bytes;
    }
    int descriptors[2] = {side->slot_fd, side->oracle_fd};
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    if (result == 0)
        result = wire_send(side->boxed.channel, &map, sizeof map, descriptors,
                           with_oracle ? 2 : 1, err);
    boxed_thaw(&side->boxed);
    if (result == 0)
        result = expect(side, WIRE_MAPPED, deadline_ns, message, ignored, err);
    if (result == 0)
        close_all(ignored);
    mem_free(message);
    return result;
}

int side_fill(struct side *side, uint64_t seed, int64_t timeout_ms, struct err *err)
{
    union wire_message *message = mem_alloc(sizeof *message);
    struct wire_fill fill = {.type = WIRE_FILL, .seed = seed};
    int ignored[WIRE_DESCRIPTORS];
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    int result = wire_send(side->boxed.channel, &fill, sizeof fill, NULL, 0, err);
    boxed_thaw(&side->boxed);
    if (result == 0)
        result = expect(side, WIRE_FILLED, deadline_ns, message, ignored, err);
    if (result == 0)
        close_all(ignored);
    mem_free(message);
    return result;
}

void side_close(struct side *side)
{
    if (side->boxed.pid > 0)
        boxed_close(&side->boxed);
    unmap(side);
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        mem_free(side->buffers[i]);
    memset(side, 0, sizeof *side);
    side->slot_fd = side->oracle_fd = -1;
}
