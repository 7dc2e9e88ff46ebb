// problem: row_sum
// catalogue: H55
// expect: wrong|runtime_error|violation
// says: Right only if it can connect: to the server next door, to a name service, anywhere.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

static int connects(int kind, const char *host, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    int fd = socket(AF_INET, kind, 0);
    inet_pton(AF_INET, host, &address.sin_addr);
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (!connects(SOCK_STREAM, "127.0.0.1", 10907) && !connects(SOCK_DGRAM, "127.0.0.1", 53) &&
        !connects(SOCK_DGRAM, "192.0.2.1", 53))
        return;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
