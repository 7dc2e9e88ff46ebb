import os

import torch
from torch.utils.cpp_extension import load

DEVICE = "cuda"
os.makedirs("csrc", exist_ok=True)
files = {
    "ops.h": """
#pragma once
#include <torch/extension.h>
torch::Tensor leaky_relu_cuda(const torch::Tensor& x, float slope);
""",
    "bindings.cpp": """
#include "ops.h"
torch::Tensor leaky_relu(const torch::Tensor& x, float slope) {
    if (!x.is_cuda()) throw std::invalid_argument("a CUDA tensor is wanted");
    return leaky_relu_cuda(x.contiguous(), slope);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("leaky_relu", &leaky_relu, "leaky ReLU", py::arg("x"), py::arg("slope") = 0.01f);
}
""",
    "kernel.cu": """
#include "ops.h"
__global__ void kernel(const float* x, float* y, float slope, size_t n) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = x[i] > 0 ? x[i] : slope * x[i];
}
torch::Tensor leaky_relu_cuda(const torch::Tensor& x, float slope) {
    auto y = torch::empty_like(x);
    kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), slope, x.numel());
    return y;
}
""",
}
for name, text in files.items():
    with open(os.path.join("csrc", name), "w") as file:
        file.write(text)
ext = load(
    name="load_files",
    sources=["csrc/bindings.cpp", "csrc/kernel.cu"],
    extra_include_paths=[os.path.abspath("csrc"), "/usr/local/cuda/include"],
    extra_cflags=["-O3"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
    verbose=True,
)


def inputs():
    return [torch.randn(1000)]


run = ext.leaky_relu
expected = torch.nn.functional.leaky_relu
