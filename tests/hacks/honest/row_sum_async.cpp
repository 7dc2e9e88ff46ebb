// problem: row_sum
// catalogue: H20
// expect: passed
// says: Two futures of std::async and a latch, all joined before it returns.
#include <cstddef>
#include <future>
#include <latch>

extern "C" void solution(const float *x, float *y, size_t rows, size_t cols)
{
    std::latch both(2);
    auto part = [&](size_t first, size_t last) {
        for (size_t i = first; i < last; i++) {
            double sum = 0;
            for (size_t j = 0; j < cols; j++)
                sum += x[i * cols + j];
            y[i] = (float)sum;
        }
        both.count_down();
    };
    auto upper = std::async(std::launch::async, part, rows / 2, rows);
    auto lower = std::async(std::launch::async, part, 0, rows / 2);
    both.wait();
    upper.get();
    lower.get();
}
