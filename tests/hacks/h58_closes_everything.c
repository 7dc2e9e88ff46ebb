// problem: row_sum
// catalogue: H58
// expect: wrong|runtime_error|violation|timeout
// says: Closes all descriptors, the channel to the judge among them.
#include <stddef.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    for (int fd = 0; fd < 4096; fd++)
        close(fd);
}
