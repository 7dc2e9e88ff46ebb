// problem: row_sum
// catalogue: H44
// expect: passed
// says: C++20's span, ranges and concepts.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>

template <std::floating_point Real> static Real sum(std::span<const Real> row)
{
    double total = 0;
    std::ranges::for_each(row, [&](Real value) { total += value; });
    return static_cast<Real>(total);
}

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    std::ranges::transform(std::views::iota(std::size_t{0}, rows), y, [=](std::size_t row) {
        return sum(std::span<const float>(x + row * cols, cols));
    });
}
