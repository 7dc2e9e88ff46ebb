# What the slim headers do not express: PyTorch's own are used, and the result is the same.
import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cpu"
SLIM = False
source = """
#include <torch/extension.h>

struct Scaler {
    explicit Scaler(double by) : by_(by) {}
    torch::Tensor apply(torch::Tensor x) const { return at::mul(x, by_).index({torch::indexing::Slice(1)}); }
    double by_;
};
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    py::class_<Scaler>(m, "Scaler").def(py::init<double>()).def("apply", &Scaler::apply);
}
"""
ext = load_inline(name="stock_only", cpp_sources=source)


def inputs():
    return [torch.randn(5)]


def run(x):
    return ext.Scaler(2.0).apply(x)


def expected(x):
    return (x * 2)[1:]
