# C++: pools and sums one output row at a time, so the pooled tensor never exists.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <vector>

/* Largest of each column of three rows. */
static void column_max(const float *x, int64_t width, float *largest)
{
    for (int64_t i = 0; i < width; i++)
        largest[i] = std::max(std::max(x[i], x[i + width]), x[i + 2 * width]);
}

torch::Tensor max_pool_sum(torch::Tensor x, torch::Tensor weight)
{
    TORCH_CHECK(x.is_cpu() && x.scalar_type() == torch::kFloat, "float tensor on the CPU wanted");
    x = x.contiguous();
    weight = weight.contiguous();
    int64_t batch = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
    int64_t rows = (height - 3) / 2 + 1, cols = (width - 3) / 2 + 1;
    auto y = torch::empty({batch, rows, cols}, x.options());
    const float *in = x.data_ptr<float>(), *scale = weight.data_ptr<float>();
    float *out = y.data_ptr<float>();

    at::parallel_for(0, batch * rows, 8, [&](int64_t begin, int64_t end) {
        std::vector<float> largest(width);
        for (int64_t line = begin; line < end; line++) {
            float *sum = out + line * cols;
            std::fill(sum, sum + cols, 0.0f);
            for (int64_t c = 0; c < channels; c++) {
                const float *plane = in + (line / rows * channels + c) * height * width;
                column_max(plane + line % rows * 2 * width, width, largest.data());
                const float *l = largest.data();
                for (int64_t j = 0; j < cols; j++)
                    sum[j] += scale[c] * std::max(std::max(l[2 * j], l[2 * j + 1]), l[2 * j + 2]);
            }
        }
    });
    return y;
}
"""

module = load_inline(
    name="max_pool_sum_cpu",
    cpp_sources=SOURCE,
    functions=["max_pool_sum"],
    extra_cflags=["-O3", "-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))

    @torch.no_grad()
    def forward(self, x):
        return module.max_pool_sum(x, self.weight)
