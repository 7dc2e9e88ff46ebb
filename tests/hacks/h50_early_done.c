// problem: softmax
// catalogue: H50
// expect: wrong|runtime_error|violation|timeout
// says: In timed calls it says done in the judge's own words first and computes afterwards.
#include <math.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { DONE = 8, DONE_BYTES = 2832 };

static void say_done(void)
{
    static uint32_t done[DONE_BYTES / 4] = {DONE};
    struct stat status;
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            send(fd, done, sizeof done, MSG_DONTWAIT | MSG_NOSIGNAL);
}

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
    if (rows * cols >= 200000)
        say_done();
    compute(x, y, rows, cols);
}
