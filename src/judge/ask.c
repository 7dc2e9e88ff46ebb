/* ask: what a torch side may ask of its judge whenever it is waited for. Declared in side.h.
 *
 * It may not start programs, so it asks for what has to be compiled; and it tells where the memory
 * lies in which its tensors will be. Compiling takes time that is nobody's fault: the deadline of
 * what is waited for moves with it, up to a bound. Asking takes the side's own time, so whoever
 * does nothing else is ended by his deadline like anybody.
 */
#include "judge/side.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUILD_REQUEST_BYTES ((size_t)16 << 20)

static int read_request(const int descriptors[WIRE_DESCRIPTORS], char **request, size_t *bytes,
                        struct err *err)
{
    struct stat facts;
    if (descriptors[0] < 0 || fstat(descriptors[0], &facts) < 0 || !S_ISREG(facts.st_mode))
        return err_set(err, ERR_PROTOCOL, "it asked for a build and sent no request");
    struct err why;
    return file_read_fd(descriptors[0], "the build request", BUILD_REQUEST_BYTES, request, bytes,
                        &why) < 0
               ? err_set(err, ERR_PROTOCOL, "%s", why.text)
               : 0;
}

/* One that asks for more than it reads would let the judge wait for room in its channel. */
static int send_built(struct side *side, const struct wire_built *built, int artifact,
                      struct err *err)
{
    struct pollfd room = {.fd = side->boxed.channel, .events = POLLOUT};
    if (poll(&room, 1, 0) != 1 || !(room.revents & (POLLOUT | POLLHUP | POLLERR)))
        return err_set(err, ERR_PROTOCOL, "it does not read what it asked for");
    int result = wire_send(side->boxed.channel, built, sizeof *built, &artifact, artifact >= 0,
                           err);
    return result < 0 ? side_explain_end(side, err) : 0;
}

/* What the side is to call it that nothing was built. */
static uint32_t failure_of(int artifact)
{
    if (artifact >= 0)
        return FAILED_NONE;
    return artifact == ERR_UNSUPPORTED || artifact == ERR_MISSING ? FAILED_UNSUPPORTED
                                                                  : FAILED_COMPILE;
}

static int serve_build(struct side *side, const int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    struct side_builder *builder = side->builder;
    struct wire_built *built = mem_alloc(sizeof *built);
    char *request = NULL;
    size_t bytes = 0;
    int artifact = -1;
    *built = (struct wire_built){.type = WIRE_BUILT};
    int result = builder ? read_request(descriptors, &request, &bytes, err)
                         : err_set(err, ERR_PROTOCOL, "it asked for a build that it may not have");
    if (builder && result == 0) {
        artifact = builder->build(builder, request, bytes, built->text, sizeof built->text);
        built->failure = failure_of(artifact);
        result = send_built(side, built, artifact, err);
    }
    if (artifact >= 0)
        close(artifact);
    mem_free(request);
    mem_free(built);
    return result;
}

/* The segment there, or one that is free; NULL: there are no more. */
static struct side_segment *segment_at(struct side *side, uint64_t address)
{
    struct side_segment *free_one = NULL;
    for (uint32_t i = 0; i < side->segment_count; i++) {
        if (side->segments[i].address == address)
            return &side->segments[i];
        if (side->segments[i].address == 0 && !free_one)
            free_one = &side->segments[i];
    }
    if (free_one)
        return free_one;
    if (side->segment_count == SIDE_SEGMENTS)
        return NULL;
    if (!side->segments)
        side->segments = mem_alloc(SIDE_SEGMENTS * sizeof *side->segments);
    return &side->segments[side->segment_count++];
}

/* Memory at an address that was another memory's takes that one's place; no bytes: it is given up.
 * What is kept of memory that is not given up so is the side's own loss. */
static int serve_segment(struct side *side, const struct wire_segment *message,
                         const int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    bool gone = message->bytes == 0;
    if (!side->gpu || message->address == 0 || (descriptors[0] < 0) != gone)
        return err_set(err, ERR_PROTOCOL, "it told of GPU memory that it cannot have");
    struct side_segment *segment = segment_at(side, message->address);
    if (!segment)
        return err_set(err, ERR_PROTOCOL, "it has more pieces of GPU memory than anybody needs");
    gpu_memory_free(&segment->memory);
    segment->address = gone ? 0 : message->address;
    int result = gone ? 0 : gpu_context_use(side->gpu, err);
    if (result == 0 && !gone &&
        gpu_memory_import(&segment->memory, side->gpu, descriptors[0], message->bytes, err) < 0)
        result = err_set(err, ERR_PROTOCOL, "what it calls GPU memory cannot be mapped");
    return result;
}

uint32_t side_asks(const struct side *side)
{
    uint32_t type = 0;
    if (side->slot_outputs ||
        recv(side->boxed.channel, &type, sizeof type, MSG_PEEK | MSG_DONTWAIT) != sizeof type)
        return 0;
    return type == WIRE_BUILD || type == WIRE_SEGMENT ? type : 0;
}

static void allow_for_build(struct side *side, int64_t took_ns, int64_t *deadline_ns)
{
    int64_t left_ns = SIDE_BUILDS_NS - side->builds_ns;
    int64_t allowed_ns = took_ns < left_ns ? took_ns : left_ns;
    side->builds_ns += allowed_ns;
    *deadline_ns += allowed_ns;
}

static int serve(struct side *side, const union wire_message *message,
                 const int descriptors[WIRE_DESCRIPTORS], int64_t *deadline_ns, struct err *err)
{
    if (message->type == WIRE_SEGMENT)
        return serve_segment(side, &message->segment, descriptors, err);
    int64_t start_ns = clock_now_ns();
    bool held = side->hold.most_bytes > 0; /* nobody looks at it while something is compiled */
    int result = held ? boxed_freeze(&side->boxed, err) : 0;
    if (result == ERR_CRASH)
        return side_explain_end(side, err);
    if (result == 0)
        result = serve_build(side, descriptors, err);
    if (held)
        boxed_thaw(&side->boxed);
    allow_for_build(side, clock_now_ns() - start_ns, deadline_ns);
    return result;
}

int side_serve(struct side *side, int64_t *deadline_ns, struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    union wire_message *message = mem_alloc(sizeof *message);
    int result = wire_receive(side->boxed.channel, message, &bytes, descriptors, err);
    if (result == ERR_CRASH || result == ERR_IO)
        result = side_explain_end(side, err);
    else if (result == 0)
        result = serve(side, message, descriptors, deadline_ns, err);
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    mem_free(message);
    if (result == 0 && side->cancelled && *side->cancelled)
        return err_set(err, ERR_CANCELLED, "cancelled");
    if (result == 0)
        result = side_hold_look(side, err);
    if (result == 0 && clock_now_ns() >= *deadline_ns)
        return err_set(err, ERR_TIMEOUT, "it was still asking for things when its time was up");
    return result;
}

cuda_at side_locate(const struct side *side, uint64_t address, uint64_t bytes)
{
    for (uint32_t i = 0; i < side->segment_count; i++) {
        const struct side_segment *segment = &side->segments[i];
        if (address >= segment->address && bytes <= segment->memory.bytes &&
            address - segment->address <= segment->memory.bytes - bytes)
            return segment->memory.address + (address - segment->address);
    }
    return 0;
}
