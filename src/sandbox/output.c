#include "sandbox/output.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int sandbox_output_make(void)
{
    int fd = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    bool made = ftruncate(fd, SANDBOX_OUTPUT_BYTES) == 0 &&
                fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
                dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0;
    close(fd);
    /* A process is killed, or crashes, with what it has not written yet. */
    return made && setvbuf(stdout, NULL, _IONBF, 0) == 0 ? STDOUT_FILENO : -1;
}

/* The end is where the process's own writes have come to, or where it says that they have. */
size_t sandbox_output_read(int fd, char *into, size_t capacity, uint64_t *written)
{
    off_t end = fd > 0 ? lseek(fd, 0, SEEK_CUR) : 0;
    *written = end < 0 ? 0 : end < SANDBOX_OUTPUT_BYTES ? (uint64_t)end : SANDBOX_OUTPUT_BYTES;
    size_t wanted = *written < capacity ? (size_t)*written : capacity;
    ssize_t got = wanted > 0 ? pread(fd, into, wanted, 0) : 0;
    return got > 0 ? (size_t)got : 0;
}
