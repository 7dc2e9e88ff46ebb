// problem: relu
// catalogue: H06
// expect: violation
// code: H06
// says: One kernel for eight calls of an interval at a time; the others start an empty one.
#include <stddef.h>

enum { MOST = 512, SMALL = 200000, GROUP = 8 };

__global__ static void relu_all(const float *x, float *y, size_t n, ptrdiff_t step)
{
    const float *from = x + blockIdx.y * step;
    float *to = y + blockIdx.y * step;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i] > 0 ? from[i] : 0;
}

__global__ static void nothing(void)
{
}

static const float *slots[MOST];
static int known, ready;

/* Its place among the slots, which lie one behind the other; -1: it was not known. */
static int place_of(const float *x)
{
    for (int i = 0; i < known; i++)
        if (slots[i] == x)
            return i;
    bool next = known > 0 && known < MOST && x > slots[known - 1] &&
                (known == 1 || x - slots[known - 1] == slots[1] - slots[0]);
    if (!next)
        known = ready = 0;
    slots[known++] = x;
    return -1;
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
