import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = r"""
#include <torch/extension.h>
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
__global__ void wmma_kernel(const half* a, const half* b, float* c, int M, int N, int K) {
    int tm = blockIdx.y, tn = blockIdx.x;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(fa, a + tm * 16 * K + k, K);
        wmma::load_matrix_sync(fb, b + k * N + tn * 16, N);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + tm * 16 * N + tn * 16, fc, N, wmma::mem_row_major);
}
torch::Tensor wmma_matmul(torch::Tensor a, torch::Tensor b) {
    int M = a.size(0), K = a.size(1), N = b.size(1);
    TORCH_CHECK(M % 16 == 0 && N % 16 == 0 && K % 16 == 0, "multiples of 16 wanted");
    auto c = torch::empty({M, N}, a.options().dtype(torch::kFloat));
    wmma_kernel<<<dim3(N / 16, M / 16), 32>>>(reinterpret_cast<half*>(a.data_ptr<at::Half>()),
        reinterpret_cast<half*>(b.data_ptr<at::Half>()), c.data_ptr<float>(), M, N, K);
    return c;
}
"""
ext = load_inline(
    name="wmma_matmul",
    cpp_sources="""torch::Tensor wmma_matmul(torch::Tensor a, torch::Tensor b);""",
    cuda_sources=source,
    functions=["wmma_matmul"],
)


def inputs():
    return [torch.randn(64, 32).half(), torch.randn(32, 48).half()]


run = ext.wmma_matmul


def expected(*inputs):
    return (inputs[0].float() @ inputs[1].float())
