// launch: argmax grid=(ceil_div(rows, 8)) block=(32, 8) args=(x, value, index, int(rows), int(cols))
#include <limits>

__global__ void argmax(const float *x, float *value, int *index, int rows, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    x += (size_t)row * cols;
    float best = -std::numeric_limits<float>::max();
    int place = std::numeric_limits<int>::max();
    for (int col = threadIdx.x; col < cols; col += 32)
        if (x[col] > best) {
            best = x[col];
            place = col;
        }
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(~0u, best, step);
        int there = __shfl_xor_sync(~0u, place, step);
        if (other > best || (other == best && there < place)) {
            best = other;
            place = there;
        }
    }
    if (threadIdx.x == 0) {
        value[row] = best;
        index[row] = place;
    }
}
