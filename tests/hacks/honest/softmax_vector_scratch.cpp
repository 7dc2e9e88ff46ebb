// problem: softmax
// catalogue: H04
// expect: passed
// says: A static std::vector is scratch that grows; nothing in it outlives the row it was made for.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

static std::vector<float> scratch;

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    scratch.resize(std::max(scratch.size(), cols));
    for (std::size_t i = 0; i < rows; i++, x += cols, y += cols) {
        const float top = *std::max_element(x, x + cols);
        std::transform(x, x + cols, scratch.begin(), [=](float v) { return std::exp(v - top); });
        const double sum = std::accumulate(scratch.begin(), scratch.begin() + cols, 0.0);
        std::transform(scratch.begin(), scratch.begin() + cols, y,
                       [=](float v) { return static_cast<float>(v / sum); });
    }
}
