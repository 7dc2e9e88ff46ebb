import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda"
source = r"""
__global__ void sum_dim_kernel(const float* x, float* y, int64_t outer, int64_t n, int64_t inner) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= outer * inner) return;
    int64_t o = idx / inner, i = idx % inner;
    float acc = 0.0f;
    for (int64_t k = 0; k < n; ++k) acc += x[(o * n + k) * inner + i];
    y[idx] = acc;
}

torch::Tensor sum_dim(torch::Tensor x, int64_t dim) {
    if (dim < 0) dim += x.dim();
    TORCH_CHECK(dim >= 0 && dim < x.dim(), "bad dim ", dim);
    x = x.contiguous();
    std::vector<int64_t> shape = x.sizes().vec();
    int64_t outer = 1, inner = 1;
    for (int64_t d = 0; d < dim; ++d) outer *= shape[d];
    for (size_t d = dim + 1; d < shape.size(); ++d) inner *= shape[d];
    int64_t n = shape[dim];
    shape[dim] = 1;
    auto y = torch::empty(shape, x.options());
    int64_t total = outer * inner;
    sum_dim_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), outer, n, inner);
    return y;
}
"""
ext = load_inline(
    name="sum_dim",
    cpp_sources="""torch::Tensor sum_dim(torch::Tensor x, int64_t dim);""",
    cuda_sources=source,
    functions=["sum_dim"],
)


def inputs():
    return [torch.randn(6, 50, 40), 1]


run = ext.sum_dim


def expected(*inputs):
    return inputs[0].sum(1, keepdim=True)
