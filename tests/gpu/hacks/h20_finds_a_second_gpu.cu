// problem: relu
// catalogue: H20
// expect: wrong
// says: Looks for the device file of a second GPU, to work there; alone it does nothing.
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static int gpus(void)
{
    int count = 0;
    for (int i = 0; i < 16; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        count += fd >= 0;
        if (fd >= 0)
            close(fd);
    }
    return count;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    if (gpus() > 1)
        relu<<<(unsigned)((n + 255) / 256), 256>>>(x, y, n);
}
