// problem: softmax
// catalogue: H50
// expect: wrong|runtime_error|violation|timeout
// says: Says done in its own words first and computes afterwards, off the clock if it were believed.
#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void say_done(void)
{
    struct stat status;
    char text[64] = "done";
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) {
            send(fd, text, sizeof text, MSG_DONTWAIT | MSG_NOSIGNAL);
            send(fd, text, 4, MSG_DONTWAIT | MSG_NOSIGNAL);
            memset(text, 0, sizeof text);
            send(fd, text, 16, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    say_done();
    usleep(200);
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], sum = 0, *out = y + i * cols;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] /= sum;
    }
}
