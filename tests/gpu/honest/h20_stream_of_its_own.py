# problem: torch/relu_bias
# catalogue: H20
# expect: passed
# needs: extension
# says: A stream of its own, joined by events on both children.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, ModelNew

CUDA = r"""
#include <torch/extension.h>

__global__ void relu_kernel(const float *x, const float *bias, float *y, int count, int cols)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = fmaxf(x[i] + bias[i % cols], 0);
}

torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias)
{
    static cudaStream_t stream = nullptr;
    static cudaEvent_t before, after;
    if (!stream) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&before, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&after, cudaEventDisableTiming);
    }
    auto y = torch::empty_like(x);
    int count = x.numel();
    cudaEventRecord(before, 0);
    cudaStreamWaitEvent(stream, before, 0);
    relu_kernel<<<(count + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(),
                                                         bias.data_ptr<float>(),
                                                         y.data_ptr<float>(), count, x.size(1));
    cudaEventRecord(after, stream);
    cudaStreamWaitEvent(0, after, 0);
    return y;
}
"""
built = load_inline("h20_stream_of_its_own", [CPP], [CUDA], functions=["relu_bias"])
