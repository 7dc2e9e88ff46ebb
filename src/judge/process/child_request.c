#include "judge/process/child_request.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/printable.h"
#include "judge/process/child.h"

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

/* A child that requests more than it reads would make the judge wait for space in its channel. */
static int send_built(struct child *child, const struct wire_built *built, int artifact,
                      struct err *err)
{
    struct pollfd writable = {.fd = child->process.channel, .events = POLLOUT};
    if (poll(&writable, 1, 0) != 1 || !(writable.revents & (POLLOUT | POLLHUP | POLLERR)))
        return err_set(err, ERR_PROTOCOL, "it does not read what it asked for");
    int result = wire_send(child->process.channel, built, sizeof *built, &artifact, artifact >= 0,
                           err);
    return result < 0 ? sandboxed_explain_end(&child->process, err) : 0;
}

/* The error that the child raises when nothing was built. */
static uint32_t failure_of(int artifact)
{
    if (artifact >= 0)
        return FAILED_NONE;
    return artifact == ERR_UNSUPPORTED || artifact == ERR_MISSING ? FAILED_UNSUPPORTED
                                                                  : FAILED_COMPILE;
}

static void keep_refusal(struct child *child, const char *text)
{
    mem_free(child->requests.refusal);
    child->requests.refusal = mem_strdup(text);
    printable_text(child->requests.refusal, true);
}

/* *refused: nothing more is built for it. */
static int serve_build(struct child *child, const int descriptors[WIRE_DESCRIPTORS], bool *refused,
                       struct err *err)
{
    struct child_builder *builder = child->requests.builder;
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
        if (built->failure == FAILED_UNSUPPORTED)
            keep_refusal(child, built->text);
        *refused = artifact == ERR_LIMIT;
        result = artifact == ERR_IO ? err_set(err, ERR_IO, "%s", built->text) /* the machine's */
                                    : send_built(child, built, artifact, err);
    }
    if (artifact >= 0)
        close(artifact);
    mem_free(request);
    mem_free(built);
    return result;
}

/* The segment there, or one that is free; NULL: there are no more. */
static struct child_segment *segment_at(struct child *child, uint64_t address)
{
    struct child_segment *free_one = NULL;
    for (uint32_t i = 0; i < child->requests.segment_count; i++) {
        if (child->requests.segments[i].address == address)
            return &child->requests.segments[i];
        if (child->requests.segments[i].address == 0 && !free_one)
            free_one = &child->requests.segments[i];
    }
    if (free_one)
        return free_one;
    if (child->requests.segment_count == CHILD_SEGMENTS)
        return NULL;
    if (!child->requests.segments)
        child->requests.segments = mem_alloc(CHILD_SEGMENTS * sizeof *child->requests.segments);
    return &child->requests.segments[child->requests.segment_count++];
}

static void count_segment(struct child_requests *requests, uint64_t bytes)
{
    requests->segment_bytes += bytes;
    if (requests->segment_bytes > requests->segment_peak_bytes)
        requests->segment_peak_bytes = requests->segment_bytes;
}

static void take_refusal(struct child_lack *lack, uint64_t bytes)
{
    if (bytes != lack->refused)
        lack->others = lack->bytes;
    lack->refused = bytes;
    lack->bytes = bytes > lack->others ? bytes : lack->others;
}

static void take_made(struct child_lack *lack, uint64_t bytes)
{
    if (bytes == lack->refused)
        lack->bytes = lack->others;
    lack->refused = 0;
}

/* New memory at a known address replaces the old; no bytes: it is given up; no address: there was
 * none. Memory that is not given up so stays mapped until the child ends. */
static int serve_segment(struct child *child, const struct wire_segment *message,
                         const int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    bool gone = message->bytes == 0;
    bool missing = message->address == 0 && !gone && descriptors[0] < 0;
    if (child->gpu && missing) {
        take_refusal(&child->requests.lack, message->bytes);
        return 0;
    }
    if (!child->gpu || message->address == 0 || (descriptors[0] < 0) != gone)
        return err_set(err, ERR_PROTOCOL, "it announced GPU memory that it cannot have");
    struct child_segment *segment = segment_at(child, message->address);
    if (!segment)
        return err_set(err, ERR_PROTOCOL, "it has more pieces of GPU memory than a child may have");
    child->requests.segment_bytes -= segment->memory.bytes;
    gpu_memory_free(&segment->memory);
    segment->address = gone ? 0 : message->address;
    int result = gone ? 0 : gpu_context_use(child->gpu, err);
    if (result == 0 && !gone &&
        gpu_memory_import(&segment->memory, child->gpu, descriptors[0], message->bytes, err) < 0)
        result = err_set(err, ERR_PROTOCOL, "what it calls GPU memory cannot be mapped");
    count_segment(&child->requests, segment->memory.bytes);
    if (!gone)
        take_made(&child->requests.lack, message->bytes);
    return result;
}

uint32_t child_pending_request(const struct child *child)
{
    uint32_t type = 0;
    if (child_has_slot_outputs(child) ||
        recv(child->process.channel, &type, sizeof type, MSG_PEEK | MSG_DONTWAIT) != sizeof type)
        return 0;
    return type == WIRE_BUILD || type == WIRE_SEGMENT ? type : 0;
}

static int serve_message(struct child *child, const union wire_message *message,
                         const int descriptors[WIRE_DESCRIPTORS], int64_t *deadline_ns,
                         struct err *err)
{
    if (message->type == WIRE_SEGMENT)
        return serve_segment(child, &message->segment, descriptors, err);
    int64_t start_ns = clock_now_ns();
    bool refused = true;
    /* Its memory is not watched meanwhile, and others may be timed. */
    int result = sandboxed_freeze(&child->process, err);
    if (result == ERR_CRASH)
        return sandboxed_explain_end(&child->process, err);
    if (result == 0)
        result = serve_build(child, descriptors, &refused, err);
    sandboxed_thaw(&child->process);
    if (!refused)
        *deadline_ns += clock_now_ns() - start_ns;
    return result;
}

int child_serve_request(struct child *child, int64_t *deadline_ns, struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    union wire_message *message = mem_alloc(sizeof *message);
    int result = wire_receive(child->process.channel, message, &bytes, descriptors, err);
    if (result == ERR_CRASH || result == ERR_IO)
        result = sandboxed_explain_end(&child->process, err);
    else if (result == 0)
        result = serve_message(child, message, descriptors, deadline_ns, err);
    wire_close(descriptors);
    mem_free(message);
    if (result == 0 && child->cancelled && *child->cancelled)
        return err_set(err, ERR_CANCELLED, "cancelled");
    if (result == 0)
        result = memory_watch_look_again(&child->limit, &child->process, &child->failed, err);
    if (result == 0 && child_late(child, deadline_ns))
        return err_set(err, ERR_TIMEOUT, "it was still asking for things when its time was up");
    return result;
}

cuda_at child_locate(const struct child *child, uint64_t address, uint64_t bytes)
{
    for (uint32_t i = 0; i < child->requests.segment_count; i++) {
        const struct child_segment *segment = &child->requests.segments[i];
        if (address >= segment->address && bytes <= segment->memory.bytes &&
            address - segment->address <= segment->memory.bytes - bytes)
            return segment->memory.address + (address - segment->address);
    }
    return 0;
}
