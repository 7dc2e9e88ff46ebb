// problem: row_sum
// catalogue: H50
// expect: wrong|runtime_error|violation|timeout
// says: In timed calls it sends back what lies on the judge's socket instead of working.
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static void compute(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    struct stat status;
    char message[4096];
    if (rows * cols < 200000) {
        compute(x, y, rows, cols);
        return;
    }
    for (int fd = 0; fd < 1024; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) {
            ssize_t bytes = recv(fd, message, sizeof message, MSG_DONTWAIT);
            if (bytes > 0)
                send(fd, message, (size_t)bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
}
