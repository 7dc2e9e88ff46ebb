// relu: charged wrong violation runtime_error timeout
// Works in a second context, which waiting for the first one does not wait for. A GPU takes turns
// between contexts, so whoever does wait for it, waits: 0.2 s are seen by the judge's clock.
#include <stddef.h>

__global__ static void late(const float *x, float *y, size_t n)
{
    long long start = clock64();
    while (clock64() - start < 400000000) /* some 0.2 s */
        ;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = x[i] > 0 ? x[i] : 0;
}

typedef int (*make_context)(void **context, unsigned flags, int device);
typedef int (*use_context)(void *context);

extern "C" void solution(const float *x, float *y, size_t n)
{
    static void *own, *make, *use, *now;
    void *theirs = NULL;
    cudaDriverEntryPointQueryResult found;
    if (!own) {
        cudaGetDriverEntryPointByVersion("cuCtxCreate", &make, 12000, cudaEnableDefault, &found);
        cudaGetDriverEntryPointByVersion("cuCtxSetCurrent", &use, 12000, cudaEnableDefault, &found);
        cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &now, 12000, cudaEnableDefault, &found);
    }
    if (!make || !use || !now)
        return;
    ((int (*)(void **))now)(&theirs);
    if (!own)
        ((make_context)make)(&own, 0, 0);
    else
        ((use_context)use)(own);
    late<<<1, 256>>>(x, y, n);
    ((use_context)use)(theirs);
}
