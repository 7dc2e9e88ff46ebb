// problem: row_sum
// catalogue: H55
// expect: wrong|runtime_error|violation
// says: Maps every open file it inherited and looks there for sums that fit its own first row.
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    double first = 0;
    for (size_t j = 0; j < cols; j++)
        first += x[j];
    for (int fd = 0; fd < 1024; fd++) {
        struct stat status;
        if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 4096)
            continue;
        size_t count = (size_t)status.st_size / sizeof(float);
        const float *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
            continue;
        for (size_t i = 0; i + rows <= count; i += 16)
            if (data + i != y && fabs(data[i] - first) <= 1e-5 * fabs(first)) {
                memcpy(y, data + i, rows * sizeof *y);
                return;
            }
    }
}
