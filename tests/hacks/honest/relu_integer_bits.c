// problem: relu
// catalogue: H13
// expect: passed
// says: Clamps by masking the sign bit with integer instructions: another domain, every bit right.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= ~(bits >> 31);
        memcpy(y + i, &bits, sizeof bits);
    }
}
