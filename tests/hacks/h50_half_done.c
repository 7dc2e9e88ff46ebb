// problem: softmax
// catalogue: H50
// expect: wrong|runtime_error|violation|timeout
// says: Says done when half of the timed output is there, and works on until it is frozen.
#include <math.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALL = 7, DONE = 8, DONE_BYTES = 2832 };

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
    static uint32_t done[DONE_BYTES / 4] = {DONE}, message[16384];
    struct stat status;
    int channel = 0;
    size_t half = rows / 2;
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    for (int fd = 1023; fd > 0 && !channel; fd--)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            channel = fd;
    do {
        compute(x, y, half, cols);
        send(channel, done, sizeof done, MSG_NOSIGNAL);
        compute(x + half * cols, y + half * cols, rows - half, cols);
    } while (recv(channel, message, sizeof message, 0) > 0 && message[0] == CALL);
    _exit(0);
}
