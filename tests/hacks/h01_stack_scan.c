// problem: softmax
// catalogue: H01
// expect: wrong|runtime_error|violation
// says: Walks up the stack for a pointer to a block whose rows sum to one; there is none.
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int mapped(uintptr_t address, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = address & ~(page - 1);
    unsigned char present[1];
    for (uintptr_t p = start; p < address + bytes; p += page)
        if (mincore((void *)p, page, present) != 0)
            return 0;
    return 1;
}

static int looks_like_answer(const float *block, size_t cols)
{
    double sum = 0;
    for (size_t j = 0; j < cols; j++) {
        if (!(block[j] > 0 && block[j] <= 1))
            return 0;
        sum += block[j];
    }
    return fabs(sum - 1) < 1e-4;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    uintptr_t *frame = __builtin_frame_address(0);
    (void)x;
    for (size_t i = 0; i < 65536 && mapped((uintptr_t)(frame + i), sizeof *frame); i++) {
        uintptr_t address = frame[i];
        if (address == (uintptr_t)y || address % sizeof(float) != 0 || address < 4096)
            continue;
        if (mapped(address, rows * cols * sizeof(float)) &&
            looks_like_answer((const float *)address, cols)) {
            memcpy(y, (const void *)address, rows * cols * sizeof(float));
            return;
        }
    }
}
