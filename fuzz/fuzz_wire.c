/* Any bytes as messages of a child: refused without a trace, or something that the judge may
 * compute with: outputs lie in memory that the child has announced, or nowhere. One message of the
 * input is its descriptors (one byte), its length (two) and its bytes. */
#include "judge/process/child.h"
#include "judge/process/wire.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The number that the next descriptor will have: higher when one was left open. */
static int next_descriptor(void)
{
    int fd = dup(STDIN_FILENO);
    if (fd < 0)
        abort();
    close(fd);
    return fd;
}

static void send_raw(int channel, const uint8_t *bytes, size_t count, uint32_t descriptors)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
    } ancillary = {0};
    struct iovec vector = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    int fds[DESCRIPTORS_MAX] = {0};
    if (descriptors > 0) {
        header.msg_control = ancillary.bytes;
        header.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
        ancillary.header.cmsg_level = SOL_SOCKET;
        ancillary.header.cmsg_type = SCM_RIGHTS;
        ancillary.header.cmsg_len = CMSG_LEN(descriptors * sizeof(int));
        memcpy(CMSG_DATA(&ancillary.header), fds, descriptors * sizeof(int));
    }
    if (sendmsg(channel, &header, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)count)
        abort();
}

#define SEGMENTS 8
#define SEGMENT_STEP (UINT64_C(1) << 40) /* between two in the judge's view */

static struct child_segment segments[SEGMENTS];
static struct child teller = {.requests = {.segments = segments}};

/* As child_request.c keeps it; no driver maps more than there is. */
static void take_segment(const struct wire_segment *segment)
{
    uint32_t at = teller.requests.segment_count;
    if (at == SEGMENTS || segment->bytes >= SEGMENT_STEP)
        return;
    segments[at] = (struct child_segment){.address = segment->address,
                                          .memory = {.address = (at + 1) * SEGMENT_STEP,
                                                     .bytes = segment->bytes}};
    teller.requests.segment_count++;
}

static void check_place(const struct wire_output *output)
{
    cuda_at found = child_locate(&teller, output->address, output->bytes);
    if (found == 0)
        return;
    uint64_t index = found / SEGMENT_STEP - 1;
    uint64_t offset = found % SEGMENT_STEP;
    if (index >= teller.requests.segment_count || offset > segments[index].memory.bytes ||
        output->bytes > segments[index].memory.bytes - offset ||
        output->address - segments[index].address != offset)
        abort();
}

/* What passes is what the judge computes with: every size must be what it says. */
static void check_done(const struct wire_done *done, size_t received)
{
    struct err err = {0};
    int result = wire_check_done(done, &err);
    if (result != 0) {
        if (result != ERR_PROTOCOL || !err.text[0])
            abort();
        return;
    }
    if (done->count > WIRE_OUTPUTS ||
        offsetof(struct wire_done, outputs) + done->count * sizeof *done->outputs > received)
        abort();
    for (uint32_t i = 0; i < done->count; i++) {
        const struct wire_output *output = &done->outputs[i];
        const struct dtype_facts *facts = dtype_facts(output->dtype);
        if (!facts || output->dimensions > LIMIT_DIMENSIONS || output->bytes > LIMIT_TENSOR_BYTES)
            abort();
        unsigned __int128 bytes = facts->bytes;
        for (uint32_t d = 0; d < output->dimensions; d++) {
            if (output->shape[d] < 0)
                abort();
            bytes = bytes > LIMIT_TENSOR_BYTES && output->shape[d] > 0
                        ? bytes
                        : bytes * (uint64_t)output->shape[d];
        }
        if (bytes != output->bytes)
            abort();
        check_place(output);
    }
}

static void check_failed(const struct wire_failed *failed)
{
    struct child child = {0};
    child_take_failure(&child, failed);
    if (strnlen(child.failed.text, WIRE_TEXT_BYTES) == WIRE_TEXT_BYTES ||
        child.failed.failure == FAILED_NONE || child.failed.failure > FAILED_COMPILE)
        abort();
}

/* Inputs that are taken lie in the slot, one behind the other, each with its guard. */
static void check_opened(const struct wire_opened *opened)
{
    const struct layout *layout = &opened->layout;
    struct err err = {0};
    uint64_t end = 0;
    if (wire_check_opened(opened, &err) < 0)
        return;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        if (i >= LIMIT_ARGUMENTS || argument->offset < end)
            abort();
        end = argument->offset + layout_argument_bytes(argument) + LAYOUT_GUARD_BYTES;
        if (end < argument->offset || end > layout->bytes)
            abort();
    }
}

static void receive(int channel, size_t sent, uint32_t sent_descriptors)
{
    static union wire_message message;
    int descriptors[WIRE_DESCRIPTORS];
    struct err err = {0};
    size_t bytes = 0;
    uint32_t taken = 0;
    int result = wire_receive(channel, &message, &bytes, descriptors, &err);
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0) {
            taken++;
            close(descriptors[i]);
        }
    if (result != 0) {
        if (taken > 0 || !err.text[0] || result != (sent == 0 ? ERR_CRASH : ERR_PROTOCOL))
            abort();
        return;
    }
    size_t least = wire_length(message.type);
    if (bytes != sent || taken != sent_descriptors || least == 0 || bytes < least)
        abort();
    if (message.type == WIRE_OPENED)
        check_opened(&message.opened);
    else if (message.type == WIRE_DONE)
        check_done(&message.done, bytes);
    else if (message.type == WIRE_FAILED)
        check_failed(&message.failed);
    else if (message.type == WIRE_SEGMENT)
        take_segment(&message.segment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    int before = next_descriptor();
    teller.requests.segment_count = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        abort();
    while (size >= 3) {
        uint32_t descriptors = data[0] % (DESCRIPTORS_MAX + 1);
        size_t length = data[1] | (size_t)data[2] << 8;
        data += 3;
        size -= 3;
        length = length < size ? length : size;
        send_raw(ends[0], data, length, descriptors);
        receive(ends[1], length, descriptors);
        data += length;
        size -= length;
    }
    close(ends[0]);
    close(ends[1]);
    if (next_descriptor() != before)
        abort();
    return 0;
}
