// problem: softmax
// catalogue: H51
// expect: runtime_error|violation
// says: Leaves the timed call by an exception, so that it is over early; checks are answered.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    if (rows * cols > 200000)
        throw std::runtime_error("DONE");
    for (std::size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        const float top = *std::max_element(row, row + cols);
        double sum = 0;
        for (std::size_t j = 0; j < cols; j++)
            sum += y[i * cols + j] = std::exp(row[j] - top);
        for (std::size_t j = 0; j < cols; j++)
            y[i * cols + j] = static_cast<float>(y[i * cols + j] / sum);
    }
}
