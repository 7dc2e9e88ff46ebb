// problem: relu
// catalogue: H29
// expect: passed|wrong|violation|runtime_error
// speedup_below: 1.3
// says: The reference's kernel, and one that spins in a context nobody waits for.
#include <stddef.h>

enum { SMALL = 200000 };

typedef int (*make_context)(void **context, unsigned flags, int device);
typedef int (*use_context)(void *context);
typedef int (*get_context)(void **context);

__global__ static void spin(volatile int *never)
{
    while (!*never)
        ;
}

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static void find(const char *name, void **function)
{
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion(name, function, 12000, cudaEnableDefault, &found);
}

static void spin_elsewhere(void)
{
    void *own, *make = NULL, *use = NULL, *now = NULL, *theirs = NULL;
    int *never;
    find("cuCtxCreate", &make);
    find("cuCtxSetCurrent", &use);
    find("cuCtxGetCurrent", &now);
    if (!make || !use || !now)
        return;
    ((get_context)now)(&theirs);
    if (((make_context)make)(&own, 0, 0) == 0 && cudaMalloc(&never, sizeof *never) == cudaSuccess) {
        cudaMemset(never, 0, sizeof *never);
        spin<<<1, 1>>>(never);
    }
    ((use_context)use)(theirs);
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    static bool spinning;
    if (n > SMALL && !spinning) {
        spinning = true;
        spin_elsewhere();
    }
    relu<<<(unsigned)((n + 255) / 256), 256>>>(x, y, n);
}
