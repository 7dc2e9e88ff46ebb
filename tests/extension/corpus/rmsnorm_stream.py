import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <ATen/cuda/Exceptions.h>
template <typename T> struct Vec { T v[4]; };
__global__ void __launch_bounds__(256) rmsnorm_kernel(const float* __restrict__ x, const float* __restrict__ w,
                                                     float* __restrict__ y, const int n, const float eps) {
    const float* row = x + static_cast<size_t>(blockIdx.x) * n;
    float* out = y + static_cast<size_t>(blockIdx.x) * n;
    float ss = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) ss += row[i] * row[i];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) ss += __shfl_down_sync(0xFFFFFFFF, ss, offset);
    __shared__ float partial[8];
    if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 5] = ss;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0.f;
        for (int i = 0; i < 8; ++i) t += partial[i];
        partial[0] = rsqrtf(t / n + eps);
    }
    __syncthreads();
    const float scale = partial[0];
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = row[i] * scale * __ldg(&w[i]);
}
torch::Tensor rmsnorm(torch::Tensor x, torch::Tensor w, float eps) {
    const int hidden = x.size(-1);
    const int64_t rows = x.numel() / hidden;
    torch::Tensor y = torch::empty_like(x);
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(x.get_device());
    rmsnorm_kernel<<<dim3(rows), dim3(256), 0, stream>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), hidden, eps);
    AT_CUDA_CHECK(cudaGetLastError());
    return y;
}
"""
ext = load_inline(
    name="rmsnorm_stream",
    cpp_sources="""torch::Tensor rmsnorm(torch::Tensor x, torch::Tensor w, float eps);""",
    cuda_sources=source,
    functions=["rmsnorm"],
)


def inputs():
    return [torch.randn(12, 513), torch.randn(513)]


def run(*inputs):
    return ext.rmsnorm(*inputs, 1e-6)


def expected(*inputs):
    return inputs[0] * torch.rsqrt(inputs[0].pow(2).mean(-1, keepdim=True) + 1e-6) * inputs[1]
