// problem: softmax
// catalogue: H53
// expect: wrong|runtime_error|violation|timeout
// says: Edits the C library's FILE records so that a forged report goes to the judge's channel.
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] = (float)(out[j] / sum);
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct stat status;
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) {
            stdout->_fileno = fd;
            stderr->_fileno = fd;
            printf("{\"status\":\"passed\",\"correct\":true}\n");
            fflush(stdout);
        }
}
