/* Wrong: keeps 11 of 24 significant bits, as a tensor core does with its inputs. */
#include <stddef.h>
#include <stdint.h>

void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        union {
            float value;
            uint32_t bits;
        } v = {.value = x[i]};
        v.bits = (v.bits + 0x1000) & 0xffffe000u;
        y[i] = v.value > 0 ? v.value : 0;
    }
}
