// problem: relu
__kernel void solution(__global const float *x, __global float *y, ulong n)
{
    size_t i = get_global_id(0);
    if (i < n)
        y[i] = x[i] > 0 ? x[i] : 0;
}
