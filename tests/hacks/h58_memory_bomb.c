// problem: row_sum
// catalogue: H58
// expect: out_of_memory|runtime_error|violation|wrong|timeout
// says: Touches memory until the limit ends it; it lets go before the machine itself is short.
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t step = (size_t)256 << 20;
    struct sysinfo machine;
    (void)x, (void)y, (void)rows, (void)cols;
    while (sysinfo(&machine) == 0 && machine.freeram > machine.totalram / 4) {
        char *block =
            mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
            return;
        memset(block, 1, step);
    }
}
