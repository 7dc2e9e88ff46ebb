// relu: wrong
// The first answer of a size is kept in a scratch buffer, and given again.
// scratch: kept bytes=4*n + 16
// launch: remember grid=(ceil_div(n, 256)) block=(256) args=(x, y, kept, n)
// launch: mark grid=(1) block=(1) args=(kept, n)
__device__ const float *last;

__global__ void remember(const float *x, float *y, float *kept, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (last != kept)
        kept[i] = fmaxf(x[i], 0);
    y[i] = kept[i];
}

__global__ void mark(float *kept, size_t n)
{
    last = kept;
}
