#include "judge/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union ancillary {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(WIRE_DESCRIPTORS * sizeof(int))];
};

size_t wire_length(uint32_t type)
{
    switch (type) {
    case WIRE_OPEN:
        return sizeof(struct wire_open);
    case WIRE_OPENED:
        return sizeof(struct wire_opened);
    case WIRE_MAP:
        return sizeof(struct wire_map);
    case WIRE_FILL:
        return sizeof(struct wire_fill);
    case WIRE_CALL:
        return sizeof(struct wire_call);
    case WIRE_DONE:
        return sizeof(struct wire_done);
    case WIRE_FAILED:
        return sizeof(struct wire_failed);
    case WIRE_BUILT:
        return sizeof(struct wire_built);
    case WIRE_MAPPED:
    case WIRE_FILLED:
    case WIRE_BUILD:
        return 2 * sizeof(uint32_t);
    default:
        return 0;
    }
}

int wire_send(int channel, const void *message, size_t bytes, const int *descriptors,
              uint32_t descriptor_count, struct err *err)
{
    union ancillary ancillary = {0};
    struct iovec vector = {.iov_base = (void *)(uintptr_t)message, .iov_len = bytes};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    if (descriptor_count > 0) {
        header.msg_control = ancillary.bytes;
        header.msg_controllen = CMSG_SPACE(descriptor_count * sizeof(int));
        ancillary.header.cmsg_level = SOL_SOCKET;
        ancillary.header.cmsg_type = SCM_RIGHTS;
        ancillary.header.cmsg_len = CMSG_LEN(descriptor_count * sizeof(int));
        memcpy(CMSG_DATA(&ancillary.header), descriptors, descriptor_count * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(channel, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
        return err_set(err, ERR_CRASH, "the other side is gone");
    if (sent != (ssize_t)bytes)
        return err_sys(err, errno, "cannot send to the other side");
    return 0;
}

/* Takes the descriptors out of one received message; closes any that are too many. */
static void take_descriptors(struct msghdr *header, int descriptors[WIRE_DESCRIPTORS])
{
    uint32_t taken = 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof fd);
            if (taken < WIRE_DESCRIPTORS)
                descriptors[taken++] = fd;
            else
                close(fd);
        }
    }
}

static int refuse(int descriptors[WIRE_DESCRIPTORS], struct err *err, int code, const char *text)
{
    for (int i = 0; i < WIRE_DESCRIPTORS; i++) {
        if (descriptors[i] >= 0)
            close(descriptors[i]);
        descriptors[i] = -1;
    }
    return err_set(err, code, "%s", text);
}

int wire_receive(int channel, union wire_message *message, size_t *bytes,
                 int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    union ancillary ancillary;
    struct iovec vector = {.iov_base = message->bytes, .iov_len = sizeof message->bytes};
    struct msghdr header = {.msg_iov = &vector,
                            .msg_iovlen = 1,
                            .msg_control = ancillary.bytes,
                            .msg_controllen = sizeof ancillary.bytes};
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        descriptors[i] = -1;
    ssize_t got;
    do
        got = recvmsg(channel, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno != ECONNRESET) /* it ended with a message of ours unread */
        return err_sys(err, errno, "cannot receive from the other side");
    if (got >= 0)
        take_descriptors(&header, descriptors);
    if (got <= 0)
        return refuse(descriptors, err, ERR_CRASH, "the other side is gone");
    *bytes = (size_t)got;
    if ((size_t)got < 2 * sizeof(uint32_t) || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
        (size_t)got < wire_length(message->type) || wire_length(message->type) == 0)
        return refuse(descriptors, err, ERR_PROTOCOL, "a message that the protocol does not know");
    return 0;
}

int wire_check_done(const struct wire_done *done, struct err *err)
{
    if (done->count > WIRE_OUTPUTS)
        return err_set(err, ERR_PROTOCOL, "it claims %u outputs", done->count);
    for (uint32_t i = 0; i < done->count; i++) {
        const struct wire_output *output = &done->outputs[i];
        const struct dtype_facts *facts = dtype_facts(output->dtype);
        uint64_t bytes = facts ? facts->bytes : 0;
        bool good = facts && output->dimensions <= LIMIT_DIMENSIONS;
        for (uint32_t d = 0; good && d < output->dimensions; d++)
            good = output->shape[d] >= 0 &&
                   !__builtin_mul_overflow(bytes, (uint64_t)output->shape[d], &bytes);
        if (!good || bytes != output->bytes || bytes > LIMIT_TENSOR_BYTES)
            return err_set(err, ERR_PROTOCOL, "it describes an output that cannot be");
    }
    return 0;
}
