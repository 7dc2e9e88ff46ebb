/* fd_message: messages between local processes, with open files (unix(7), SCM_RIGHTS).
 *
 * One message is one datagram of a SOCK_SEQPACKET socket. Received descriptors are close-on-exec;
 * what comes beyond the number asked for is closed. Calls are repeated after a signal.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FD_MESSAGE_MAX 4 /* descriptors in one message */

/* A socket pair; the caller closes both. */
NODISCARD int fd_message_pair(int *ours, int *theirs, struct err *err);

/* The descriptors stay the caller's. ERR_CRASH: the other end is gone. */
NODISCARD int fd_message_send(int socket, const void *message, size_t bytes, const int *descriptors,
                              uint32_t count, struct err *err);

/* Bytes of one message, at most `capacity`, and its first `count` descriptors (-1 where there are
 * fewer), the caller's; 0: the other end is gone. ERR_INPUT: the message was longer than that. */
NODISCARD ssize_t fd_message_receive(int socket, void *message, size_t capacity, int *descriptors,
                                     uint32_t count, struct err *err);
