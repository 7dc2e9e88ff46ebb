import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
ext = load_inline(
    name="vector_add",
    cpp_sources=["torch::Tensor add_cuda(torch::Tensor a, torch::Tensor b);"],
    cuda_sources=["""
#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

__global__ void add4(const float4* a, const float4* b, float4* c, int n4) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += stride) {
        float4 x = a[i], y = b[i];
        c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
}
__global__ void add_tail(const float* a, const float* b, float* c, int from, int n) {
    int i = from + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

torch::Tensor add_cuda(torch::Tensor a, torch::Tensor b) {
    CHECK_INPUT(a);
    CHECK_INPUT(b);
    TORCH_CHECK(a.sizes() == b.sizes(), "shapes differ: ", a.sizes(), " and ", b.sizes());
    auto c = torch::empty(a.sizes(), a.options());
    int n = static_cast<int>(a.numel());
    int n4 = n / 4;
    if (n4 > 0)
        add4<<<std::min(1024, (n4 + 255) / 256), 256>>>(
            reinterpret_cast<const float4*>(a.data_ptr<float>()),
            reinterpret_cast<const float4*>(b.data_ptr<float>()),
            reinterpret_cast<float4*>(c.data_ptr<float>()), n4);
    if (n % 4)
        add_tail<<<1, 4>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n4 * 4, n);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) {
        throw std::runtime_error(std::string("launch failed: ") + cudaGetErrorString(err));
    }
    return c;
}
"""],
    functions=["add_cuda"],
    with_cuda=True,
    extra_cuda_cflags=["-O3", "-lineinfo", "-std=c++17"],
)


def inputs():
    return [torch.randn(7, 131), torch.randn(7, 131)]


run = ext.add_cuda
expected = torch.add
