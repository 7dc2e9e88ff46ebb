import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
cpp = """
#include <torch/extension.h>
#include <vector>

std::vector<torch::Tensor> gates_cuda_forward(torch::Tensor gates, torch::Tensor old_cell);

#define CHECK_CUDA(x) TORCH_CHECK(x.type().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

std::vector<torch::Tensor> gates_forward(torch::Tensor input, torch::Tensor weights,
                                         torch::Tensor bias, torch::Tensor old_h,
                                         torch::Tensor old_cell) {
    CHECK_INPUT(input);
    CHECK_INPUT(weights);
    auto X = torch::cat({old_h, input}, /*dim=*/1);
    auto gate_weights = torch::addmm(bias, X, weights.transpose(0, 1));
    const auto batch_size = old_cell.size(0);
    const auto state_size = old_cell.size(1);
    auto gates = gate_weights.reshape({batch_size, 3, state_size});
    return gates_cuda_forward(gates, old_cell);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &gates_forward, "LLTM forward (CUDA)");
}
"""
cuda = """
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) { return 1.0 / (1.0 + exp(-z)); }

template <typename scalar_t>
__device__ __forceinline__ scalar_t elu(scalar_t z, scalar_t alpha = 1.0) {
    return fmaxf(0.0, z) + fminf(0.0, alpha * (exp(z) - 1.0));
}

template <typename scalar_t>
__global__ void forward_kernel(
    const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> gates,
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> old_cell,
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> new_h,
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> new_cell) {
    const int n = blockIdx.y;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < gates.size(2)) {
        auto input_gate = sigmoid(gates[n][0][c]);
        auto output_gate = sigmoid(gates[n][1][c]);
        auto candidate = elu(gates[n][2][c]);
        new_cell[n][c] = old_cell[n][c] + candidate * input_gate;
        new_h[n][c] = tanh(new_cell[n][c]) * output_gate;
    }
}

std::vector<torch::Tensor> gates_cuda_forward(torch::Tensor gates, torch::Tensor old_cell) {
    auto new_h = torch::zeros_like(old_cell);
    auto new_cell = torch::zeros_like(old_cell);
    const auto batch_size = old_cell.size(0);
    const auto state_size = old_cell.size(1);
    const int threads = 1024;
    const dim3 blocks((state_size + threads - 1) / threads, batch_size);
    AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lltm_forward_cuda", ([&] {
        forward_kernel<scalar_t><<<blocks, threads>>>(
            gates.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
            old_cell.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            new_h.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            new_cell.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
    }));
    return {new_h, new_cell};
}
"""
lltm = load_inline(name="lltm", cpp_sources=[cpp], cuda_sources=[cuda])


def inputs():
    return [
        torch.randn(6, 20),
        torch.randn(96, 52),
        torch.randn(96),
        torch.randn(6, 32),
        torch.randn(6, 32),
    ]


run = lltm.forward


def expected(x, weights, bias, h, cell):
    gates = torch.addmm(bias, torch.cat([h, x], 1), weights.t()).reshape(6, 3, 32)
    cell = cell + torch.nn.functional.elu(gates[:, 2]) * torch.sigmoid(gates[:, 0])
    return [torch.tanh(cell) * torch.sigmoid(gates[:, 1]), cell]
