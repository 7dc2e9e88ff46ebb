import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
template <typename scalar_t>
__global__ void axpy_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ y,
                            scalar_t* __restrict__ z, const scalar_t a, const size_t n) {
    const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        scalar_t v = x[i] * a;
        v += y[i];
        z[i] = v;
    }
}
torch::Tensor axpy(torch::Tensor x, torch::Tensor y, double a) {
    auto z = torch::empty_like(x);
    const size_t n = x.numel();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.type(), "axpy", [&] {
        axpy_kernel<scalar_t><<<(n + 511) / 512, 512>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(),
            z.data_ptr<scalar_t>(), static_cast<scalar_t>(a), n);
    });
    return z;
}
"""
ext = load_inline(
    name="half_templates",
    cpp_sources="""torch::Tensor axpy(torch::Tensor x, torch::Tensor y, double a);""",
    cuda_sources=source,
    functions=["axpy"],
)


def inputs():
    return [torch.randn(333).half(), torch.randn(333).half(), 0.5]


run = ext.axpy


def expected(*inputs):
    return inputs[0] * 0.5 + inputs[1]
