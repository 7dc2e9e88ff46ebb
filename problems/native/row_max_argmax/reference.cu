#include <stddef.h>
#include <stdint.h>

__global__ static void largest_of_row(const float *x, float *value, int32_t *index, size_t cols)
{
    x += blockIdx.x * cols;
    __shared__ float values[128];
    __shared__ size_t places[128];
    /* Every thread starts from column 0: where that is NaN, nothing is larger, as in a loop. */
    size_t best = 0;
    for (size_t col = threadIdx.x; col < cols; col += blockDim.x)
        if (x[col] > x[best])
            best = col;
    values[threadIdx.x] = x[best];
    places[threadIdx.x] = best;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            unsigned mine = threadIdx.x, other = mine + step;
            if (values[other] > values[mine] ||
                (values[other] == values[mine] && places[other] < places[mine])) {
                values[mine] = values[other];
                places[mine] = places[other];
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        value[blockIdx.x] = values[0];
        index[blockIdx.x] = (int32_t)places[0];
    }
}

extern "C" void solution(const float *x, float *value, int32_t *index, size_t rows, size_t cols)
{
    largest_of_row<<<rows, 128>>>(x, value, index, cols);
}
