// launch: relu grid=(ceil_div(n, 256)) block=(256) args=(x, y, n)

extern "C" __global__ void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = fmaxf(x[i], 0);
}
