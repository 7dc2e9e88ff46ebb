import torch
from torch.utils.cpp_extension import load_inline

cuda_source = """
__global__ void relu_kernel(const float4 *x, float4 *y, long count)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < count) {
        float4 v = x[i];
        y[i] = make_float4(fmaxf(v.x, 0), fmaxf(v.y, 0), fmaxf(v.z, 0), fmaxf(v.w, 0));
    }
}

torch::Tensor relu(torch::Tensor x)
{
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.numel() % 4 == 0, "x: contiguous, on a GPU");
    auto y = torch::empty_like(x);
    long count = x.numel() / 4;
    relu_kernel<<<(count + 255) / 256, 256>>>((const float4 *)x.data_ptr<float>(),
                                             (float4 *)y.data_ptr<float>(), count);
    return y;
}
"""
cpp_source = "torch::Tensor relu(torch::Tensor x);"

relu = load_inline(
    name="bench_relu", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["relu"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return relu.relu(x)
