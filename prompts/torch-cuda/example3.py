"""Three operators in one pass; the input is only read."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void scale_add_kernel(const float *x, const float *scale, float *y, long long count, int cols)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = x[i] + fmaxf(x[i] * scale[i % cols], 0.0f);
}

torch::Tensor scale_add(torch::Tensor x, torch::Tensor scale)
{
    x = x.contiguous();
    auto y = torch::empty_like(x);
    long long count = x.numel();
    scale_add_kernel<<<(unsigned)((count + 255) / 256), 256>>>(
        x.data_ptr<float>(), scale.data_ptr<float>(), y.data_ptr<float>(), count, (int)scale.size(0));
    return y;
}
"""

CPP = "torch::Tensor scale_add(torch::Tensor x, torch::Tensor scale);"

kernels = load_inline("scale_add_kernels", [CPP], [CUDA], functions=["scale_add"])


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return kernels.scale_add(x, self.scale)
