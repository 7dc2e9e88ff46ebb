import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cpu"
source = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <omp.h>
#include <algorithm>

torch::Tensor softmax_rows(torch::Tensor x) {
    x = x.contiguous();
    auto y = at::empty({x.size(0), x.size(1)}, x.options());
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t cols = x.size(1);
    at::parallel_for(0, x.size(0), 4, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            const float* p = in + r * cols;
            float* q = out + r * cols;
            float m = *std::max_element(p, p + cols), s = 0.f;
            for (int64_t c = 0; c < cols; ++c) s += (q[c] = std::exp(p[c] - m));
            for (int64_t c = 0; c < cols; ++c) q[c] /= s;
        }
    });
    return y;
}
double total(torch::Tensor x) {
    const float* p = x.data_ptr<float>();
    const int64_t n = x.numel();
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += p[i];
    return sum;
}
std::string describe(torch::Tensor x, const std::string& name) {
    std::ostringstream text;
    text << name << " has " << x.dim() << " dims";
    return text.str();
}
"""
ext = load_inline(
    name="cpu_parallel",
    cpp_sources=[source],
    functions=["softmax_rows", "total", "describe"],
    extra_cflags=["-O3", "-march=native", "-ffast-math", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


def inputs():
    return [torch.rand(64, 100)]


def run(x):
    return [ext.softmax_rows(x), round(ext.total(x), 1), ext.describe(x, "x")]


def expected(x):
    return [torch.softmax(x, 1), round(x.double().sum().item(), 1), "x has 2 dims"]
