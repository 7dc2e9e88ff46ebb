// relu: wrong H15
// launch: relu grid=(ceil_div(n, 256) + 1) block=(256) args=(x, y, n)
__global__ void relu(const float *x, float *y, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        y[i] = i < n ? fmaxf(x[i], 0) : 0;
}
