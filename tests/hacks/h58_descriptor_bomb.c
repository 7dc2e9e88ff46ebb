// problem: row_sum
// catalogue: H58
// expect: wrong|runtime_error|violation
// says: Opens descriptors until none are left, then fails to do its work.
#include <fcntl.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)cols;
    for (int i = 0; i < 100000; i++)
        if (open("/dev/zero", O_RDONLY) < 0)
            break;
    for (size_t i = 0; i < rows; i++)
        y[i] = 0;
}
