"""A block to a row: mean, then the variance around it, then the row."""

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

__global__ void layer_norm_kernel(const float *x, const float *weight, const float *bias, float *y,
                                  int cols, float eps)
{
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        sum += x[i];
    float mean = block_sum(sum) / cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        squares += (x[i] - mean) * (x[i] - mean);
    float scale = 1.0f / sqrtf(block_sum(squares) / cols + eps);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps)
{
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int cols = (int)weight.size(0);
    layer_norm_kernel<<<(unsigned)(x.numel() / cols), 128>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        cols, (float)eps);
    return y;
}
"""

CPP = "torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);"

kernels = load_inline("layer_norm_kernels", [CPP], [CUDA], functions=["layer_norm"])


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return kernels.layer_norm(x, self.weight, self.bias, self.eps)
