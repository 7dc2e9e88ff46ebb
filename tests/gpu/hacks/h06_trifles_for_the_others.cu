// problem: relu
// catalogue: H06
// expect: violation
// code: H06
// says: One kernel for all calls of an interval, and for each call one that does nothing.
#include <stddef.h>

#include "shared/relu_all.cuh"
#include "shared/slots.cuh"

__global__ static void nothing(void)
{
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    int place = n > SMALL ? place_of(x) : -1;
    if (place > 0 && place < ready) {
        nothing<<<1, 1>>>();
        return;
    }
    int count = place == 0 ? known : 1;
    ptrdiff_t step = known > 1 ? slots[1] - slots[0] : 0;
    relu_all<<<dim3((unsigned)((n + 1023) / 1024), (unsigned)count), 256>>>(x, y, n, step);
    if (place == 0)
        ready = count;
}
