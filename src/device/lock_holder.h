/* lock_holder: which process holds a lock of flock(2). */
#pragma once

#include <sys/types.h>

/* As the kernel lists it (/proc/locks). 0: none but this process, one of another container, or not
 * known. Threads: any. */
pid_t lock_holder(int fd);
