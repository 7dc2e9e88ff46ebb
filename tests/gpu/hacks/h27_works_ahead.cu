// problem: relu
// catalogue: H27
// expect: wrong|violation|timeout|runtime_error
// says: A kernel that never ends, in a context of its own, answers as soon as inputs are there.
#include <stddef.h>

enum { MOST = 256, SMALL = 200000, BLOCKS = 2, THREADS = 512 };

typedef int (*make_context)(void **context, unsigned flags, int device);
typedef int (*use_context)(void *context);
typedef int (*get_context)(void **context);

static void *own, *make, *use, *now;
static const float *watched[MOST];
static int count;

/* The poison in the last element says that the judge has just laid the slot out anew. */
__global__ static void watch(const float *x, volatile float *y, size_t n)
{
    size_t part = (n + gridDim.x - 1) / gridDim.x;
    size_t from = part * blockIdx.x, to = from + part < n ? from + part : n;
    for (;;) {
        while (__float_as_uint(y[to - 1]) != 0xFFFFFFFF)
            __nanosleep(200);
        __nanosleep(20000);
        for (size_t i = from + threadIdx.x; i < to; i += blockDim.x) {
            float value = ((volatile const float *)x)[i];
            y[i] = value > 0 ? value : 0;
        }
        __syncthreads();
    }
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

static void watch_from_elsewhere(const float *x, float *y, size_t n)
{
    void *theirs = NULL;
    if (!own) {
        find("cuCtxCreate", &make);
        find("cuCtxSetCurrent", &use);
        find("cuCtxGetCurrent", &now);
    }
    if (!make || !use || !now)
        return;
    ((get_context)now)(&theirs);
    if (!own)
        ((make_context)make)(&own, 0, 0);
    else
        ((use_context)use)(own);
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    watch<<<BLOCKS, THREADS, 0, stream>>>(x, y, n);
    ((use_context)use)(theirs);
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    for (int i = 0; n > SMALL && i < count; i++)
        if (watched[i] == x)
            return;
    relu<<<(unsigned)((n + 255) / 256), 256>>>(x, y, n);
    if (n <= SMALL || count == MOST)
        return;
    watched[count++] = x;
    watch_from_elsewhere(x, y, n);
}
