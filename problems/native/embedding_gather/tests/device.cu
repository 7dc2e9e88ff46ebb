// One block for each row that is picked.
// launch: gather grid=(count) block=(min(1024, 32 * ceil_div(width, 32))) args=(table, index, y, int(width))
#include <cstdint>

__global__ void gather(const float *table, const std::int32_t *index, float *y, int width)
{
    const float *from = table + (size_t)index[blockIdx.x] * width;
    for (int j = threadIdx.x; j < width; j += blockDim.x)
        y[(size_t)blockIdx.x * width + j] = from[j];
}
