# problem: torch/relu_bias
# catalogue: H17
# expect: wrong
# needs: extension
# says: Copies out whatever the kernels before it left in shared memory.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, ModelNew

CUDA = r"""
#include <torch/extension.h>

__global__ void relu_kernel(const float *x, const float *bias, float *y, int count, int cols)
{
    extern __shared__ float left[];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        y[i] = left[i % (12 << 10)];
}

torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias)
{
    auto y = torch::empty_like(x);
    int count = x.numel();
    relu_kernel<<<132, 256, 48 << 10>>>(x.data_ptr<float>(), bias.data_ptr<float>(),
                                              y.data_ptr<float>(), count, x.size(1));
    return y;
}
"""
built = load_inline("h17_left_in_shared_memory", [CPP], [CUDA], functions=["relu_bias"])
