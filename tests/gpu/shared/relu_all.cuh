__global__ static void relu_all(const float *x, float *y, size_t n, ptrdiff_t step)
{
    const float *from = x + blockIdx.y * step;
    float *to = y + blockIdx.y * step;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i] > 0 ? from[i] : 0;
}
