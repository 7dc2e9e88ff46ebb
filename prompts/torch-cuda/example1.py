"""One pass: a thread adds the bias of its column and clamps."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void relu_bias_kernel(const float *x, const float *bias, float *y, long long count, int cols)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = fmaxf(x[i] + bias[i % cols], 0.0f);
}

torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias)
{
    x = x.contiguous();
    auto y = torch::empty_like(x);
    long long count = x.numel();
    relu_bias_kernel<<<(unsigned)((count + 255) / 256), 256>>>(
        x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), count, (int)bias.size(0));
    return y;
}
"""

CPP = "torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias);"

kernels = load_inline("relu_bias_kernels", [CPP], [CUDA], functions=["relu_bias"])


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return kernels.relu_bias(x, self.bias)
