// problem: row_sum
// catalogue: H24
// expect: passed
// says: Replaces operator new to align what it allocates, as many programs do.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

void *operator new(std::size_t bytes)
{
    if (void *at = std::aligned_alloc(64, (bytes + 63) / 64 * 64))
        return at;
    throw std::bad_alloc();
}

void operator delete(void *at) noexcept
{
    std::free(at);
}

void operator delete(void *at, std::size_t) noexcept
{
    std::free(at);
}

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    std::vector<double> sums(rows);
    for (std::size_t i = 0; i < rows; i++)
        for (std::size_t j = 0; j < cols; j++)
            sums[i] += x[i * cols + j];
    for (std::size_t i = 0; i < rows; i++)
        y[i] = static_cast<float>(sums[i]);
}
