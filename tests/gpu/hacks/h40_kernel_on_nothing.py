# problem: torch/relu_bias
# catalogue: H40
# expect: passed
# warning: H41
# needs: extension
# says: Its own kernel makes one number that nobody reads; PyTorch does the work.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

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
    auto scratch = torch::empty_like(bias);
    relu_kernel<<<1, 1>>>(bias.data_ptr<float>(), bias.data_ptr<float>(),
                          scratch.data_ptr<float>(), 1, 1);
    return x;
}
"""
CPP = "torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias);"
built = load_inline("h40_kernel_on_nothing", [CPP], [CUDA], functions=["relu_bias"])


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return torch.relu(built.relu_bias(x, self.bias) + self.bias)
