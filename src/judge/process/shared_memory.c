#include "judge/process/shared_memory.h"

#include "base/file.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int shared_make(struct shared *shared, const char *name, uint64_t bytes, bool whole,
                struct err *err)
{
    shared_free(shared);
    int fd = file_memory(name, bytes, err);
    if (fd < 0)
        return fd;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | (whole ? MAP_POPULATE : 0), fd, 0);
    if (mapped == MAP_FAILED) {
        close(fd);
        return err_sys(err, errno, "cannot map %llu bytes for the arguments",
                       (unsigned long long)bytes);
    }
    *shared = (struct shared){.data = mapped, .bytes = bytes, .fd = fd};
    return 0;
}

void shared_free(struct shared *shared)
{
    if (shared->data) {
        munmap(shared->data, shared->bytes);
        close(shared->fd);
    }
    *shared = (struct shared){0};
}
