// problem: relu
// catalogue: H44
// expect: passed
// says: OpenMP's target regions run on the host where there is no device.
#include <cstddef>

extern "C" void solution(const float *x, float *y, std::size_t n)
{
#pragma omp target teams distribute parallel for map(to : x[0 : n]) map(from : y[0 : n])
    for (std::size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
