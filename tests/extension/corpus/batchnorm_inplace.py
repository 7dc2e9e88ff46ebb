import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = r"""
__global__ void bn_kernel(float *x, const float *mean, const float *var, const float *w, const float *b, int C, int S, int total, float eps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int c = (i / S) % C;
    x[i] = (x[i] - mean[c]) * rsqrtf(var[c] + eps) * w[c] + b[c];
}
void bn_(torch::Tensor x, torch::Tensor mean, torch::Tensor var, torch::Tensor weight, torch::Tensor bias, double eps)
{
    TORCH_INTERNAL_ASSERT(x.is_contiguous());
    int C = x.size(1), total = x.numel(), S = total / (x.size(0) * C);
    bn_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(),
        weight.data_ptr<float>(), bias.data_ptr<float>(), C, S, total, static_cast<float>(eps));
    auto err = cudaGetLastError();
    if (err != cudaSuccess) printf("CUDA error: %s\n", cudaGetErrorString(err));
}
"""
ext = load_inline(
    name="batchnorm_inplace",
    cpp_sources="""void bn_(torch::Tensor x, torch::Tensor mean, torch::Tensor var, torch::Tensor weight, torch::Tensor bias, double eps);""",
    cuda_sources=source,
    functions=["bn_"],
)


def inputs():
    return [torch.randn(4, 6, 25), torch.randn(6), torch.rand(6) + 0.5, torch.randn(6), torch.randn(6)]


def run(*inputs):
    return (inputs := [inputs[0].clone(), *inputs[1:]], ext.bn_(*inputs, 1e-5), inputs[0])[2]


def expected(*inputs):
    return torch.nn.functional.batch_norm(*inputs, False, 0.1, 1e-5)
