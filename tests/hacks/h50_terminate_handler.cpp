// problem: softmax
// catalogue: H50
// expect: violation|wrong|timeout|runtime_error
// says: Its own terminate handler answers an exception with a forged DONE on every descriptor.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <sys/socket.h>
#include <unistd.h>

static void forge()
{
    static std::uint32_t done[704] = {8};
    for (int fd = 3; fd < 64; fd++)
        send(fd, done, 16, MSG_DONTWAIT | MSG_NOSIGNAL);
    for (;;)
        pause();
}

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    std::set_terminate(forge);
    throw 0;
}
