"""A block to a row: the sum of squares first, then the scaled row, which L1 still holds."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__device__ float block_sum(float value)
{
    __shared__ float parts[32];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < blockDim.x / 32; i++)
        sum += parts[i];
    __syncthreads();
    return sum;
}

__global__ void rms_norm_kernel(const float *x, const float *weight, float *y, int cols, float eps)
{
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        sum += x[i] * x[i];
    float scale = 1.0f / sqrtf(block_sum(sum) / cols + eps);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[i] = x[i] * scale * weight[i];
}

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps)
{
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int cols = (int)weight.size(0);
    rms_norm_kernel<<<(unsigned)(x.numel() / cols), 256>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), cols, (float)eps);
    return y;
}
"""

CPP = "torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps);"

kernels = load_inline("rms_norm_kernels", [CPP], [CUDA], functions=["rms_norm"])


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return kernels.rms_norm(x, self.weight, self.eps)
