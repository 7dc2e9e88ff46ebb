import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>

__global__ void bias_relu(float* y, const float* b, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[i] = fmaxf(y[i] + b[i % cols], 0.f);
}

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> bias) {
    int m = x.size(0), k = x.size(1), n = w.size(0);
    auto y = torch::empty({m, n}, x.options());
    static cublasHandle_t handle = nullptr;
    if (!handle) cublasCreate(&handle);
    cublasSetStream(handle, at::cuda::getCurrentCUDAStream());
    const float one = 1.f, zero = 0.f;
    auto status = cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, w.data_ptr<float>(), k,
                x.data_ptr<float>(), k, &zero, y.data_ptr<float>(), n);
    TORCH_CHECK(status == CUBLAS_STATUS_SUCCESS, "cublasSgemm failed: ", (int)status);
    if (bias.has_value()) {
        auto b = bias.value().contiguous();
        bias_relu<<<(m * n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            y.data_ptr<float>(), b.data_ptr<float>(), m, n);
    }
    return y;
}
"""
ext = load_inline(
    name="cublas_linear",
    cpp_sources="torch::Tensor linear_relu(torch::Tensor x, torch::Tensor w, "
    "c10::optional<torch::Tensor> bias);",
    cuda_sources=source,
    functions=["linear_relu"],
    extra_ldflags=["-lcublas"],
)


def inputs():
    return [torch.randn(33, 64), torch.randn(48, 64), torch.randn(48)]


run = ext.linear_relu


def expected(x, w, b):
    return torch.relu(torch.nn.functional.linear(x, w, b))
