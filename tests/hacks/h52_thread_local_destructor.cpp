// problem: relu
// catalogue: H52
// expect: wrong|violation|passed
// speedup_below: 1.5
// says: The destructor of a thread_local object computes the timed size as its thread ends, late.
#include <algorithm>
#include <cstddef>
#include <thread>

static void compute(const float *x, float *y, std::size_t n)
{
    for (int round = 0; round < 8; round++)
        for (std::size_t i = 0; i < n; i++)
            y[i] = std::max(x[i], 0.0f);
}

struct late {
    const float *x = nullptr;
    float *y = nullptr;
    std::size_t n = 0;
    ~late() { compute(x, y, n); }
};

static thread_local late work;

extern "C" void solution(const float *x, float *y, std::size_t n)
{
    if (n < 200000) {
        compute(x, y, n);
        return;
    }
    std::thread([=] { work.x = x, work.y = y, work.n = n; }).detach();
}
