# C++: one loop masks and sums, four rows at a time so that their additions overlap.
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>

/* One row's sums depend on each other; four rows side by side keep the adder busy. */
template <int ROWS>
static void running_sums(const float *x, const bool *mask, float *y, int64_t cols)
{
    float sum[ROWS] = {};
    for (int64_t j = 0; j < cols; j++) {
        for (int r = 0; r < ROWS; r++) {
            int64_t i = r * cols + j;
            sum[r] += x[i] * (float)mask[i];
            y[i] = sum[r];
        }
    }
}

torch::Tensor cumsum_mask(torch::Tensor x, torch::Tensor mask)
{
    TORCH_CHECK(x.is_cpu() && x.scalar_type() == torch::kFloat, "float tensor on the CPU wanted");
    TORCH_CHECK(mask.sizes() == x.sizes() && mask.scalar_type() == torch::kBool, "mask differs");
    x = x.contiguous();
    mask = mask.contiguous();
    auto y = torch::empty_like(x);
    int64_t rows = x.size(0), cols = x.size(1), row = 0;
    const float *in = x.data_ptr<float>();
    const bool *keep = mask.data_ptr<bool>();
    float *out = y.data_ptr<float>();
    for (; row + 4 <= rows; row += 4)
        running_sums<4>(in + row * cols, keep + row * cols, out + row * cols, cols);
    for (; row < rows; row++)
        running_sums<1>(in + row * cols, keep + row * cols, out + row * cols, cols);
    return y;
}
"""

module = load_inline(
    name="cumsum_mask_cpu", cpp_sources=SOURCE, functions=["cumsum_mask"], extra_cflags=["-O3"]
)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return module.cumsum_mask(x, mask)
