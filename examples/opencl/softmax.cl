// problem: softmax
// global: rows
// local: 8
__kernel void solution(__global const float *x, __global float *y, ulong rows, ulong cols)
{
    size_t row = get_global_id(0);
    if (row >= rows)
        return;
    __global const float *from = x + row * cols;
    __global float *to = y + row * cols;
    float most = from[0];
    for (size_t i = 1; i < cols; i++)
        most = fmax(most, from[i]);
    float sum = 0, lost = 0; // what rounding took from the sum is given back with the next term
    for (size_t i = 0; i < cols; i++) {
        to[i] = exp(from[i] - most);
        float term = to[i] - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    for (size_t i = 0; i < cols; i++)
        to[i] /= sum;
}
