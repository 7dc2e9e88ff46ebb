// problem: softmax
// catalogue: H60
// expect: load_error
// says: `solution` has its C++ name only, so that the object has no entry point.
#include <cstddef>

void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
}
