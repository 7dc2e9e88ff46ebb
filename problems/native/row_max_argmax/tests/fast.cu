/* A warp to a row, four loads of it under way at once: no shared memory, no other warp to wait for.
 */
#include <stddef.h>
#include <stdint.h>

enum { WARPS = 8, THREADS = 32 * WARPS, AHEAD = 4 };

__global__ static void largest_of_row(const float *__restrict__ x, float *__restrict__ value,
                                      int32_t *__restrict__ index, size_t rows, size_t cols)
{
    size_t row = blockIdx.x * (size_t)WARPS + threadIdx.x / 32;
    if (row >= rows)
        return;
    const float *in = x + row * cols;
    /* Every lane starts from column 0: where that is NaN, nothing is larger, as in a loop. */
    float first = in[0], most = first;
    int32_t place = 0;
    for (size_t start = threadIdx.x % 32; start < cols; start += 32 * AHEAD) {
        float v[AHEAD];
#pragma unroll
        for (unsigned k = 0; k < AHEAD; k++)
            v[k] = start + 32 * k < cols ? in[start + 32 * k] : first;
#pragma unroll
        for (unsigned k = 0; k < AHEAD; k++) {
            if (v[k] > most) {
                most = v[k];
                place = (int32_t)(start + 32 * k);
            }
        }
    }
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(~0u, most, step);
        int32_t there = __shfl_xor_sync(~0u, place, step);
        if (other > most || (other == most && there < place)) {
            most = other;
            place = there;
        }
    }
    if (threadIdx.x % 32 == 0) {
        value[row] = most;
        index[row] = place;
    }
}

extern "C" void solution(const float *x, float *value, int32_t *index, size_t rows, size_t cols)
{
    largest_of_row<<<(rows + WARPS - 1) / WARPS, THREADS>>>(x, value, index, rows, cols);
}
