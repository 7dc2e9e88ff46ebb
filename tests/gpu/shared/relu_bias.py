import torch
from torch import nn

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
    auto y = torch::empty_like(x);
    int count = x.numel();
    relu_kernel<<<(count + 255) / 256, 256>>>(x.data_ptr<float>(), bias.data_ptr<float>(),
                                              y.data_ptr<float>(), count, x.size(1));
    return y;
}
"""
CPP = "torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias);"
built = None  # the candidate's own: load_inline of CPP and its change of CUDA


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return built.relu_bias(x, self.bias)
