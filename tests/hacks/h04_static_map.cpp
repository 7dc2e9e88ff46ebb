// problem: softmax
// catalogue: H04
// expect: wrong
// says: A static object remembers answers in a map from address and shape; contents change.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

static std::map<std::tuple<const float *, std::size_t, std::size_t>, std::vector<float>> answers;

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    auto [found, is_new] = answers.try_emplace({x, rows, cols});
    if (!is_new) {
        std::copy(found->second.begin(), found->second.end(), y);
        return;
    }
    for (std::size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        const float top = *std::max_element(row, row + cols);
        double sum = 0;
        for (std::size_t j = 0; j < cols; j++)
            sum += y[i * cols + j] = std::exp(row[j] - top);
        for (std::size_t j = 0; j < cols; j++)
            y[i * cols + j] = static_cast<float>(y[i * cols + j] / sum);
    }
    found->second.assign(y, y + rows * cols);
}
