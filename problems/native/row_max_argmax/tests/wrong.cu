/* Wrong: starts from zero instead of the first element, so rows of negative elements fail. */
#include <stddef.h>
#include <stdint.h>

__global__ static void largest_of_row(const float *x, float *value, int32_t *index, size_t cols)
{
    x += blockIdx.x * cols;
    float most = 0;
    int place = 0;
    for (size_t col = threadIdx.x; col < cols; col += 32) {
        if (x[col] > most) {
            most = x[col];
            place = (int)col;
        }
    }
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(~0u, most, step);
        int there = __shfl_xor_sync(~0u, place, step);
        if (other > most || (other == most && there < place)) {
            most = other;
            place = there;
        }
    }
    if (threadIdx.x == 0) {
        value[blockIdx.x] = most;
        index[blockIdx.x] = place;
    }
}

extern "C" void solution(const float *x, float *value, int32_t *index, size_t rows, size_t cols)
{
    largest_of_row<<<rows, 32>>>(x, value, index, cols);
}
