#include "base/fd_message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union ancillary {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(FD_MESSAGE_MAX * sizeof(int))];
};

int fd_message_pair(int *ours, int *theirs, struct err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(err, errno, "cannot make a socket pair");
    *ours = ends[0];
    *theirs = ends[1];
    return 0;
}

int fd_message_send(int socket, const void *message, size_t bytes, const int *descriptors,
                    uint32_t count, struct err *err)
{
    union ancillary ancillary = {0};
    struct iovec vector = {.iov_base = (void *)(uintptr_t)message, .iov_len = bytes};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    if (count > FD_MESSAGE_MAX)
        return err_set(err, ERR_INTERNAL, "%u descriptors in one message", count);
    if (count > 0) {
        header.msg_control = ancillary.bytes;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        ancillary.header.cmsg_level = SOL_SOCKET;
        ancillary.header.cmsg_type = SCM_RIGHTS;
        ancillary.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&ancillary.header), descriptors, count * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
        return err_set(err, ERR_CRASH, "the peer is gone");
    if (sent != (ssize_t)bytes)
        return err_sys(err, errno, "cannot send to the peer");
    return 0;
}

/* Takes the descriptors out of one received message. */
static void take_descriptors(struct msghdr *header, int *descriptors, uint32_t count)
{
    uint32_t taken = 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        size_t held = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < held; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof fd);
            if (taken < count)
                descriptors[taken++] = fd;
            else
                close(fd);
        }
    }
}

ssize_t fd_message_receive(int socket, void *message, size_t capacity, int *descriptors,
                           uint32_t count, struct err *err)
{
    union ancillary ancillary;
    struct iovec vector = {.iov_base = message, .iov_len = capacity};
    struct msghdr header = {.msg_iov = &vector,
                            .msg_iovlen = 1,
                            .msg_control = ancillary.bytes,
                            .msg_controllen = sizeof ancillary.bytes};
    for (uint32_t i = 0; i < count; i++)
        descriptors[i] = -1;
    ssize_t got;
    do
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == ECONNRESET) /* the peer ended with a message of ours unread */
        return 0;
    if (got < 0)
        return err_sys(err, errno, "cannot receive from the peer");
    take_descriptors(&header, descriptors, count);
    bool whole = !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
    if (whole && got > 0)
        return got;
    for (uint32_t i = 0; i < count; i++) {
        if (descriptors[i] >= 0)
            close(descriptors[i]);
        descriptors[i] = -1;
    }
    return got == 0 ? 0 : err_set(err, ERR_INPUT, "the message is too long");
}
