// problem: sort
// catalogue: H44
// expect: passed
// says: std::sort of the C++ library sorts each row: a library, and a part of the language.
#include <algorithm>
#include <cstddef>

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    std::copy(x, x + rows * cols, y);
#pragma omp parallel for
    for (std::size_t i = 0; i < rows; i++)
        std::sort(y + i * cols, y + (i + 1) * cols);
}
