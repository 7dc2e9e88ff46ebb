#include "device/awake.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

int awake_begin(void)
{
    static const int32_t longest_us = 0;
    int awake = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
    if (awake >= 0 && write(awake, &longest_us, sizeof longest_us) == sizeof longest_us)
        return awake;
    awake_end(awake);
    return -1;
}

void awake_end(int awake)
{
    if (awake >= 0)
        close(awake);
}
