# problem: torch/relu_bias
# catalogue: H15
# expect: passed
# needs: extension
# says: More shared memory than a kernel gets unasked, and it asks.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, ModelNew

CUDA = r"""
#include <torch/extension.h>

__global__ void relu_kernel(const float *x, const float *bias, float *y, int count, int cols)
{
    extern __shared__ float part[];
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        part[i] = bias[i];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        y[i] = fmaxf(x[i] + part[i % cols], 0);
}

torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias)
{
    auto y = torch::empty_like(x);
    int bytes = 100 << 10;
    cudaFuncSetAttribute(relu_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    relu_kernel<<<264, 512, bytes>>>(x.data_ptr<float>(), bias.data_ptr<float>(),
                                     y.data_ptr<float>(), x.numel(), x.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "the launch failed");
    return y;
}
"""
built = load_inline("h15_much_shared_memory", [CPP], [CUDA], functions=["relu_bias"])
