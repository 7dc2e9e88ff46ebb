/* pidfd: descriptors of processes, by system call: glibc has these functions from 2.36 on alone. */
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The descriptor, or -1 with errno; it can be polled for the process's end. */
static inline int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* 0, or -1 with errno. */
static inline int pidfd_signal(int pidfd, int signal)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}
