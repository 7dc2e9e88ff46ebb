// problem: row_sum
// catalogue: H01
// expect: wrong|runtime_error|violation
// says: Copies what lies behind the output in memory, where a careless judge keeps the answer.
#include <string.h>
#include <sys/mman.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t bytes = rows * sizeof *y, page = 4096;
    char *next = (char *)(((size_t)(y + rows) + page - 1) & ~(page - 1));
    unsigned char present[1];
    (void)x;
    (void)cols;
    for (size_t i = 0; i < 1024; i++, next += page)
        if (mincore(next, page, present) == 0 && ((float *)next)[0] != 0) {
            memcpy(y, next, bytes < page ? bytes : page);
            return;
        }
}
