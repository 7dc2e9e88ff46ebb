// relu: wrong H08
// launch: relu grid=(ceil_div(n, 256)) block=(256) args=(x, y, n)
__global__ void relu(float *x, float *y, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] = fmaxf(x[i], 0);
}
