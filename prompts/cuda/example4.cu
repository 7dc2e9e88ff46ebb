// launch: relu grid=(ceil_div(ceil_div(n, 4), 256)) block=(256) args=(x, y, n)
__global__ void relu(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    size_t i = 4 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        float4 v = *(const float4 *)(x + i);
        *(float4 *)(y + i) = make_float4(v.x > 0 ? v.x : 0, v.y > 0 ? v.y : 0, v.z > 0 ? v.z : 0,
                                         v.w > 0 ? v.w : 0);
    } else {
        for (; i < n; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
    }
}
