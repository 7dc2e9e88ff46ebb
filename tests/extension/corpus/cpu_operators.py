import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cpu"
source = """
#include <torch/extension.h>

std::tuple<torch::Tensor, torch::Tensor, int64_t> mixed(
    torch::Tensor x, c10::optional<torch::Tensor> weight, std::vector<torch::Tensor> rest,
    at::IntArrayRef shape, bool flag) {
    auto y = torch::relu(torch::matmul(x, x.t())) * 2 + 1.5;
    if (weight.has_value() && weight->defined()) y.mul_(*weight);
    for (const auto& each : rest) y = y + each.sum();
    auto biggest = std::get<0>(y.max(1, true));
    auto picked = flag ? biggest.view(shape) : biggest;
    auto z = torch::cat({picked.flatten(), torch::ones({2}, x.options())}, 0).to(torch::kFloat64);
    return {y.softmax(-1), z, y.argmax().item<int64_t>()};
}
torch::Tensor like(torch::Tensor x) {
    auto y = torch::full_like(x, 3);
    y[0].fill_(1);
    y.select(0, 1).copy_(x.select(0, 0));
    return y.transpose(0, 1).contiguous().unsqueeze(0).expand({2, -1, -1}).clone();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("mixed", &mixed, py::arg("x"), py::arg("weight") = py::none(), py::arg("rest"),
          py::arg("shape"), py::arg("flag") = true);
    m.def("like", &like);
    m.def("twice", [](double v) { return 2 * v; });
}
"""
ext = load_inline(name="cpu_operators", cpp_sources=source)


def inputs():
    return [torch.randn(4, 5), torch.rand(4, 4), torch.randn(3)]


def run(x, weight, extra):
    return [
        *ext.mixed(x, weight, [extra, extra], [2, 2]),
        *ext.mixed(x, rest=(), shape=[4], flag=False),
        ext.like(x),
        ext.twice(3),
    ]


def expected(x, weight, extra):
    results = []
    for factor, rest in ((weight, [extra, extra]), (torch.ones(4, 4), [])):
        y = (torch.relu(x @ x.t()) * 2 + 1.5) * factor + sum(each.sum() for each in rest)
        z = torch.cat([y.amax(1), torch.ones(2)]).double()
        results += [y.softmax(-1), z, y.argmax().item()]
    like = torch.full_like(x, 3)
    like[0] = 1
    like[1] = x[0]
    return [*results, like.t().unsqueeze(0).expand(2, -1, -1), 6.0]
