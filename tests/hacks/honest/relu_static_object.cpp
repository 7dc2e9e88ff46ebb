// problem: relu
// catalogue: H52
// expect: passed
// says: A static object with constructor and destructor holds a table; neither sees any data.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

struct masks {
    std::unique_ptr<std::array<std::uint32_t, 2>> of_sign;
    masks() : of_sign(new std::array<std::uint32_t, 2>{0xffffffffu, 0u}) {}
    ~masks() { of_sign.reset(); }
};

static const masks table;

extern "C" void solution(const float *x, float *y, std::size_t n)
{
    const std::array<std::uint32_t, 2> &mask = *table.of_sign;
    for (std::size_t i = 0; i < n; i++) {
        std::uint32_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        bits &= mask[bits >> 31];
        std::memcpy(y + i, &bits, sizeof bits);
    }
}
