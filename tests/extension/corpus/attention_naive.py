import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cmath>
#define DIVUP(m, n) ((m) / (n) + ((m) % (n) > 0))
__global__ void attention_kernel(const float* q, const float* k, const float* v, float* o,
                                 int T, int D, float scale, bool causal) {
    extern __shared__ float s[];
    int head = blockIdx.y, row = blockIdx.x;
    const float* Q = q + ((size_t)head * T + row) * D;
    const float* K = k + (size_t)head * T * D;
    const float* V = v + (size_t)head * T * D;
    int last = causal ? row + 1 : T;
    for (int j = threadIdx.x; j < last; j += blockDim.x) {
        float dot = 0;
        for (int d = 0; d < D; d++) dot += Q[d] * K[j * D + d];
        s[j] = dot * scale;
    }
    __syncthreads();
    float m = -INFINITY, z = 0;
    for (int j = 0; j < last; j++) m = max(m, s[j]);
    for (int j = 0; j < last; j++) z += expf(s[j] - m);
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float acc = 0;
        for (int j = 0; j < last; j++) acc += expf(s[j] - m) / z * V[j * D + d];
        o[((size_t)head * T + row) * D + d] = acc;
    }
}
torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, bool causal) {
    at::cuda::CUDAGuard guard(q.device());
    auto B = q.size(0), H = q.size(1), T = q.size(2), D = q.size(3);
    auto o = torch::empty_like(q);
    int smem = T * sizeof(float);
    int max_smem = at::cuda::getCurrentDeviceProperties()->sharedMemPerBlock;
    TORCH_CHECK(smem <= max_smem, "sequence of ", T, " needs ", smem, " bytes of shared memory, have ", max_smem);
    attention_kernel<<<dim3(T, B * H), DIVUP((int)T, 32) * 32, smem, at::cuda::getCurrentCUDAStream()>>>(
        q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), T, D, 1.0f / std::sqrt((float)D), causal);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return o;
}
"""
ext = load_inline(
    name="attention_naive",
    cpp_sources="""torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, bool causal);""",
    cuda_sources=source,
    functions=["attention"],
)


def inputs():
    return [torch.randn(2, 3, 33, 16), torch.randn(2, 3, 33, 16), torch.randn(2, 3, 33, 16)]


def run(*inputs):
    return ext.attention(*inputs, True)


def expected(*inputs):
    return torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)
