// problem: softmax
// catalogue: H21
// expect: passed
// says: std::threads of each call are joined before it returns; an exception of one is caught.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

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
    const std::size_t half = rows / 2;
    std::vector<std::thread> threads;
    try {
        if (half == 0)
            throw std::length_error("one row needs no threads");
        threads.emplace_back(compute, x, y, half, cols);
        threads.emplace_back(compute, x + half * cols, y + half * cols, rows - half, cols);
    } catch (const std::exception &) {
        if (threads.empty())
            compute(x, y, rows, cols);
        else
            compute(x + half * cols, y + half * cols, rows - half, cols);
    }
    for (std::thread &thread : threads)
        thread.join();
}
