// problem: relu
// catalogue: H06
// expect: violation
// code: H06
// says: Learns where the slots lie; then its first call of an interval starts one kernel for all.
#include <stddef.h>

#include "shared/relu_all.cuh"
#include "shared/slots.cuh"

extern "C" void solution(const float *x, float *y, size_t n)
{
    int place = n > SMALL ? place_of(x) : -1;
    if (place > 0 && place < ready)
        return;
    int count = place == 0 ? known : 1;
    ptrdiff_t step = known > 1 ? slots[1] - slots[0] : 0;
    relu_all<<<dim3((unsigned)((n + 1023) / 1024), (unsigned)count), 256>>>(x, y, n, step);
    if (place == 0)
        ready = count;
}
