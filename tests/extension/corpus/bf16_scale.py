import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = r"""
#include <torch/extension.h>
#include <cuda_bf16.h>
__global__ void scale_kernel(const __nv_bfloat16* x, __nv_bfloat16* y, float alpha, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = __float2bfloat16(__bfloat162float(x[i]) * alpha);
}
at::Tensor scale(const at::Tensor &x, double alpha) {
    TORCH_CHECK(x.scalar_type() == at::ScalarType::BFloat16);
    at::Tensor y = at::empty_like(x);
    scale_kernel<<<4, 128>>>((const __nv_bfloat16*)x.data_ptr(), (__nv_bfloat16*)y.data_ptr(), (float)alpha, (int)x.numel());
    return y;
}
"""
ext = load_inline(
    name="bf16_scale",
    cpp_sources="""at::Tensor scale(const at::Tensor &x, double alpha);""",
    cuda_sources=source,
    functions=["scale"],
)


def inputs():
    return [torch.randn(200).bfloat16(), 1.5]


run = ext.scale


def expected(*inputs):
    return inputs[0] * 1.5
