/* objects: the files that are mapped into this process, and which of them were there before the
 * candidate.
 *
 * Files are identified by device and inode, from the kernel (/proc/self/maps), because the
 * candidate can choose the paths that the dynamic linker keeps. Threads: objects_snapshot once,
 * before the others; those are safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define OBJECT_PATH_BYTES 512

struct object {
    uint64_t device, inode;
    char path[OBJECT_PATH_BYTES];
};

void objects_snapshot(void);
/* The file whose mapping holds the address; false: none does. */
bool objects_find(const void *address, struct object *object);
/* Mapped at the snapshot; or outside the directory that was the working one, and not changed since:
 * a file's ctime cannot be set back. Without a snapshot, everything is a library. */
bool objects_library(const struct object *object);

/* Of the loaded object that holds an address of code: NULL when there is none. */
const void *objects_loaded(const void *address);
/* Whether it is the main program or uses Python's C API: such objects pass on the code of others
 * (Triton's, ctypes', torch.compile's), where any other library loads its own. */
bool objects_passes_on(const void *address);
