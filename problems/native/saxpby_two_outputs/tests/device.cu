// launch: both grid=(min(ceil_div(n, 256), 4096)) block=(256) args=(sum, difference, x, y, alpha, beta, int(n))
__global__ void both(float *__restrict__ sum, float *__restrict__ difference,
                     const float *__restrict__ x, const float *__restrict__ y, float alpha,
                     float beta, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float a = alpha * x[i], b = beta * y[i];
        sum[i] = a + b;
        difference[i] = a - b;
    }
}
