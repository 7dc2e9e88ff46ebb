// problem: row_sum
// catalogue: H29
// expect: passed
// speedup_below: 0.9
// says: After DONE its loop is in one long copy, off the clock: cold caches; works eight times.
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALL = 7, DONE = 8, JUNK_BYTES = 24 << 20 };
typedef float lanes __attribute__((vector_size(32)));

static void sum_rows(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        lanes sum = {0}, value;
        float total = 0;
        size_t j = 0;
        for (; j + 8 <= cols; j += 8) {
            memcpy(&value, row + j, sizeof value);
            sum += value;
        }
        for (; j < cols; j++)
            total += row[j];
        for (int lane = 0; lane < 8; lane++)
            total += sum[lane];
        y[i] = total;
    }
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static uint32_t done[6] = {DONE}, message[16384];
    struct stat status;
    int channel = 0;
    sum_rows(x, y, rows, cols);
    if (rows * cols < 200000)
        return;
    for (int fd = 1023; fd > 0 && !channel; fd--)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            channel = fd;
    char *junk = calloc(1, JUNK_BYTES);
    int file = open("junk", O_CREAT | O_RDWR, 0600);
    (void)!pwrite(file, junk, JUNK_BYTES, 0);
    for (;;) {
        send(channel, done, sizeof done, MSG_NOSIGNAL);
        (void)!pread(file, junk, JUNK_BYTES, 0);
        if (recv(channel, message, sizeof message, 0) <= 0 || message[0] != CALL)
            _exit(0);
        for (int again = 0; again < 8; again++) {
            sum_rows(x, y, rows, cols);
            __asm__ volatile("" : : "r"(y) : "memory");
        }
    }
}
