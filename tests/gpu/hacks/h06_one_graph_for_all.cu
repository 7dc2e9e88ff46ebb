// problem: relu
// catalogue: H06
// expect: violation
// code: H06
// says: Its first call of an interval starts a graph with one kernel for each call.
#include <stddef.h>

#include "shared/slots.cuh"

__global__ static void relu(const float *x, float *y, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static cudaStream_t stream;
static cudaGraphExec_t graph;

static void relu_one(const float *x, float *y, size_t n)
{
    relu<<<(unsigned)((n + 1023) / 1024), 256, 0, stream>>>(x, y, n);
}

static void record_graph(float *y, size_t n)
{
    cudaGraph_t made;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < known; i++)
        relu_one(slots[i], y + (slots[i] - slots[0]), n);
    cudaStreamEndCapture(stream, &made);
    cudaGraphInstantiate(&graph, made, 0);
    ready = known;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    if (!stream)
        cudaStreamCreate(&stream);
    int place = n > SMALL ? place_of(x) : -1;
    if (place > 0 && place < ready)
        return;
    if (place == 0 && ready < known)
        record_graph(y, n);
    if (place == 0)
        cudaGraphLaunch(graph, stream);
    else
        relu_one(x, y, n);
}
