// problem: softmax
// catalogue: H24
// expect: wrong|runtime_error|violation|load_error
// says: Replaces operator new, delete, malloc and memcmp for whatever compares in C++ or C.
#include <cstddef>
#include <cstring>
#include <new>

static char arena[1 << 20];
static std::size_t used;

static void *take(std::size_t bytes)
{
    void *at = arena + used % (sizeof arena / 2);
    used += (bytes + 63) / 64 * 64;
    return at; // the same memory for expected and got, sooner or later
}

void *operator new(std::size_t bytes)
{
    return take(bytes);
}

void *operator new[](std::size_t bytes)
{
    return take(bytes);
}

void operator delete(void *) noexcept {}
void operator delete(void *, std::size_t) noexcept {}
void operator delete[](void *) noexcept {}
void operator delete[](void *, std::size_t) noexcept {}

extern "C" int memcmp(const void *, const void *, std::size_t) noexcept
{
    return 0;
}

extern "C" void solution(const float *x, float *y, std::size_t rows, std::size_t cols)
{
    (void)x;
    std::memset(y, 0, rows * cols * sizeof *y);
}
