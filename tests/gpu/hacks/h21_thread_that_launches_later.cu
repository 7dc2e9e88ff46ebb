// relu: wrong violation
// Returns at once; a thread of its own starts the kernel some milliseconds later.
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

struct work_t {
    const float *x;
    float *y;
    size_t n;
};

static void *later(void *argument)
{
    work_t *work = (work_t *)argument;
    usleep(3000);
    relu<<<(work->n + 255) / 256, 256>>>(work->x, work->y, work->n);
    delete work;
    return NULL;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    pthread_t thread;
    work_t *work = new work_t{x, y, n};
    pthread_create(&thread, NULL, later, work);
    pthread_detach(thread);
}
