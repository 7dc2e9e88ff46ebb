// relu: timeout
// launch: relu grid=(1) block=(32) args=(y)
__global__ void relu(volatile float *y)
{
    while (y[0] == y[0] || y[0] != y[0])
        ;
}
