// problem: relu
// catalogue: H52
// expect: runtime_error|violation|wrong
// says: Ends the process; destructors of static objects then write the outputs and a forged DONE.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sys/socket.h>

struct last_words {
    const float *x = nullptr;
    float *y = nullptr;
    std::size_t n = 0;
    ~last_words()
    {
        static std::uint32_t done[704] = {8};
        std::transform(x, x + n, y, [](float v) { return std::max(v, 0.0f); });
        for (int fd = 3; fd < 64; fd++)
            send(fd, done, 16, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
};

static last_words words;

extern "C" void solution(const float *x, float *y, std::size_t n)
{
    words.x = x, words.y = y, words.n = n;
    std::exit(0);
}
