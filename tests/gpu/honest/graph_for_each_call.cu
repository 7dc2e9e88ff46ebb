// relu: passed
// A CUDA graph for each pair of addresses: it reads what lies there when it is launched.
#include <stddef.h>

enum { MOST = 256 };

static struct {
    const float *x;
    float *y;
    size_t n;
    cudaGraphExec_t graph;
} known[MOST];
static int count;
static cudaStream_t stream;

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static cudaGraphExec_t capture(const float *x, float *y, size_t n)
{
    cudaGraph_t graph;
    cudaGraphExec_t made = NULL;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    relu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    return made;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    int i = 0;
    if (!stream)
        cudaStreamCreate(&stream);
    while (i < count && (known[i].x != x || known[i].y != y || known[i].n != n))
        i++;
    if (i == MOST) {
        relu<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
        return;
    }
    if (i == count) {
        known[count].x = x;
        known[count].y = y;
        known[count].n = n;
        known[count++].graph = capture(x, y, n);
    }
    cudaGraphLaunch(known[i].graph, stream);
}
