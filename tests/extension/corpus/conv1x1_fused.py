import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = r"""
__global__ void conv1x1_kernel(const float* x, const float* w, const float* b, float* y,
                               int N, int C, int O, int HW) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * O * HW) return;
    int p = idx % HW;
    int o = (idx / HW) % O;
    int n = idx / (HW * O);
    float acc = b ? b[o] : 0.f;
    for (int c = 0; c < C; c++) acc += x[(n * C + c) * HW + p] * w[o * C + c];
    y[idx] = acc > 0.f ? acc : 0.f;
}
torch::Tensor conv1x1(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    TORCH_CHECK(x.device() == w.device(), "x is on ", x.device(), " but w on ", w.device());
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0);
    auto y = torch::empty({N, O, H, W}, x.options());
    int total = N * O * H * W;
    conv1x1_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(),
        b.defined() ? b.data_ptr<float>() : nullptr, y.data_ptr<float>(), N, C, O, H * W);
    return y;
}
"""
ext = load_inline(
    name="conv1x1_fused",
    cpp_sources="""torch::Tensor conv1x1(torch::Tensor x, torch::Tensor w, torch::Tensor b);""",
    cuda_sources=source,
    functions=["conv1x1"],
)


def inputs():
    return [torch.randn(2, 16, 9, 11), torch.randn(24, 16), torch.randn(24)]


run = ext.conv1x1


def expected(*inputs):
    return torch.relu(torch.einsum("nchw,oc->nohw", inputs[0], inputs[1]) + inputs[2].view(1, -1, 1, 1))
