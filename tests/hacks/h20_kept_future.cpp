// problem: softmax
// catalogue: H20
// expect: wrong|violation|passed
// speedup_below: 1.5
// says: std::async computes the timed size; its future is kept and waited for in the next call.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <future>

static std::future<void> kept;

static void compute(const float *x, float *y, std::size_t rows, std::size_t cols)
{
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

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    if (kept.valid())
        kept.wait();
    if (rows * cols < 200000)
        compute(x, y, rows, cols);
    else
        kept = std::async(std::launch::async, compute, x, y, rows, cols);
}
