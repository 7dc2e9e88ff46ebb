// problem: relu
// catalogue: H06
// expect: violation
// code: H06
// says: One kernel for eight calls of an interval at a time; the others start an empty one.
#include <stddef.h>

#include "shared/relu_all.cuh"
#include "shared/slots.cuh"

enum { GROUP = 8 };

__global__ static void nothing(void)
{
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    int place = n > SMALL ? place_of(x) : -1;
    if (place > 0 && place < ready && place % GROUP != 0) {
        nothing<<<1, 1>>>();
        return;
    }
    int left = place >= 0 && place % GROUP == 0 ? known - place : 1;
    int count = left < GROUP ? left : GROUP;
    ptrdiff_t step = known > 1 ? slots[1] - slots[0] : 0;
    relu_all<<<dim3((unsigned)((n + 1023) / 1024), (unsigned)count), 256>>>(x, y, n, step);
    if (place == 0)
        ready = known;
}
