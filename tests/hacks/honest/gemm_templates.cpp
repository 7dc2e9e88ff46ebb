// problem: gemm
// catalogue: H11
// expect: passed
// says: Templates make one kernel for whole tiles and one for the edges; both compute all of it.
#include <algorithm>
#include <cstddef>

constexpr std::size_t tile = 32;

template <bool whole>
static void multiply(const float *__restrict a, const float *__restrict b, float *__restrict c,
                     std::size_t height, std::size_t width, std::size_t cols, std::size_t depth)
{
    const std::size_t m = whole ? tile : height, n = whole ? tile : width;
    float sums[tile][tile] = {};
    for (std::size_t k = 0; k < depth; k++)
        for (std::size_t i = 0; i < m; i++)
            for (std::size_t j = 0; j < n; j++)
                sums[i][j] += a[i * depth + k] * b[k * cols + j];
    for (std::size_t i = 0; i < m; i++)
        std::copy(sums[i], sums[i] + n, c + i * cols);
}

extern "C" void solution(const float *a, const float *b, float *c, std::size_t rows,
                         std::size_t cols, std::size_t depth)
{
    for (std::size_t i = 0; i < rows; i += tile)
        for (std::size_t j = 0; j < cols; j += tile) {
            const std::size_t height = std::min(tile, rows - i), width = std::min(tile, cols - j);
            const auto part = height == tile && width == tile ? multiply<true> : multiply<false>;
            part(a + i * depth, b + j, c + i * cols + j, height, width, cols, depth);
        }
}
