import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
cuda = r"""
#include <torch/types.h>
#include <ATen/ATen.h>
#include <ATen/AccumulateType.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

template <typename scalar_t>
__global__ void layernorm_kernel(
    const scalar_t* __restrict__ x, const scalar_t* __restrict__ gamma,
    const scalar_t* __restrict__ beta, scalar_t* __restrict__ y, int cols, float eps) {
    using acc_t = at::acc_type<scalar_t, true>;
    extern __shared__ float buffer[];
    const scalar_t* row = x + blockIdx.x * cols;
    acc_t sum = 0, square = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        acc_t v = static_cast<acc_t>(row[i]);
        sum += v;
        square += v * v;
    }
    buffer[threadIdx.x] = static_cast<float>(sum);
    buffer[threadIdx.x + blockDim.x] = static_cast<float>(square);
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            buffer[threadIdx.x] += buffer[threadIdx.x + s];
            buffer[threadIdx.x + blockDim.x] += buffer[threadIdx.x + blockDim.x + s];
        }
        __syncthreads();
    }
    float mean = buffer[0] / cols;
    float var = buffer[blockDim.x] / cols - mean * mean;
    float inv = rsqrtf(var + eps);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        float v = (static_cast<float>(row[i]) - mean) * inv;
        y[blockIdx.x * cols + i] = static_cast<scalar_t>(
            v * static_cast<float>(gamma[i]) + static_cast<float>(beta[i]));
    }
}

torch::Tensor layernorm_forward(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    const at::cuda::OptionalCUDAGuard device_guard(device_of(x));
    auto sizes = x.sizes();
    int cols = sizes[sizes.size() - 1];
    int rows = x.numel() / cols;
    auto y = torch::empty_like(x);
    const int threads = 256;
    auto stream = at::cuda::getCurrentCUDAStream().stream();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16,
        x.scalar_type(), "layernorm_forward", ([&] {
            layernorm_kernel<scalar_t><<<rows, threads, 2 * threads * sizeof(float), stream>>>(
                x.data_ptr<scalar_t>(), gamma.data_ptr<scalar_t>(), beta.data_ptr<scalar_t>(),
                y.data_ptr<scalar_t>(), cols, static_cast<float>(eps));
        }));
    AT_CUDA_CHECK(cudaGetLastError());
    return y;
}
"""
ext = load_inline(
    "layernorm_dispatch",
    cpp_sources="torch::Tensor layernorm_forward(torch::Tensor x, torch::Tensor gamma,"
    " torch::Tensor beta, double eps);",
    cuda_sources=cuda,
    functions={"layernorm_forward": "LayerNorm (CUDA)"},
    extra_cuda_cflags=["-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda"],
)


def inputs():
    return [torch.randn(5, 9, 192), torch.randn(192), torch.randn(192)]


def run(x, gamma, beta):
    outputs = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        y = ext.layernorm_forward(x.to(dtype), gamma.to(dtype), beta.to(dtype), 1e-5)
        assert y.dtype == dtype
        outputs.append(y.to(torch.bfloat16))
    return outputs


def expected(x, gamma, beta):
    y = torch.nn.functional.layer_norm(x, (192,), gamma, beta).to(torch.bfloat16)
    return [y] * 4
