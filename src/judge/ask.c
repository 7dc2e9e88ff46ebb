/* ask: what a torch side may ask of its judge whenever it is waited for. Declared in side.h.
 *
 * It may not start programs, so it asks for what has to be compiled; and it tells where the memory
 * lies in which its tensors will be. Compiling takes time that is nobody's fault: the deadline of
 * what is waited for moves with it.
 */
#include "judge/side.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

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
    return file_read_fd(descriptors[0], "the build request", BUILD_REQUEST_BYTES, request, bytes,
                        err);
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
    if (result == 0) {
        artifact = builder->build(builder, request, bytes, built->text, sizeof built->text);
        built->failure = failure_of(artifact);
        result = wire_send(side->boxed.channel, built, sizeof *built, &artifact, artifact >= 0,
                           err);
    }
    if (artifact >= 0)
        close(artifact);
    mem_free(request);
    mem_free(built);
    return result;
}

static struct side_segment *segment_at(struct side *side, uint64_t address)
{
    for (uint32_t i = 0; i < side->segment_count; i++)
        if (side->segments[i].address == address)
            return &side->segments[i];
    if (side->segment_count == SIDE_SEGMENTS)
        return NULL;
    if (!side->segments)
        side->segments = mem_alloc(SIDE_SEGMENTS * sizeof *side->segments);
    side->segments[side->segment_count] = (struct side_segment){.address = address};
    return &side->segments[side->segment_count++];
}

/* Memory at an address that was another memory's takes that one's place. What is kept of memory
 * that the side has given up since is its own loss. */
static int serve_segment(struct side *side, const struct wire_segment *message,
                         const int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    if (!side->gpu || descriptors[0] < 0)
        return err_set(err, ERR_PROTOCOL, "it told of GPU memory that it cannot have");
    struct side_segment *segment = segment_at(side, message->address);
    if (!segment)
        return err_set(err, ERR_PROTOCOL, "it has more pieces of GPU memory than anybody needs");
    gpu_memory_free(&segment->memory);
    int result = gpu_context_use(side->gpu, err);
    if (result == 0 &&
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

int side_serve(struct side *side, int64_t *deadline_ns, struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    int64_t start_ns = clock_now_ns();
    union wire_message *message = mem_alloc(sizeof *message);
    int result = wire_receive(side->boxed.channel, message, &bytes, descriptors, err);
    if (result == 0) {
        result = message->type == WIRE_BUILD
                     ? serve_build(side, descriptors, err)
                     : serve_segment(side, &message->segment, descriptors, err);
        for (int i = 0; i < WIRE_DESCRIPTORS; i++)
            if (descriptors[i] >= 0)
                close(descriptors[i]);
        if (message->type == WIRE_BUILD)
            *deadline_ns += clock_now_ns() - start_ns;
    }
    mem_free(message);
    return result == ERR_CRASH || result == ERR_IO ? side_explain_end(side, err) : result;
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
