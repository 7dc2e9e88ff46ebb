// problem: row_sum
// catalogue: H09
// expect: wrong
// says: Tries small public seeds of common generators to recognise the input and skip reading it.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static double splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    double u = splitmix(state), v = splitmix(state);
    return sqrt(-2 * log(u + 1e-300)) * cos(6.283185307179586 * v);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (uint64_t seed = 0; seed < 4096; seed++) {
        uint64_t state = seed;
        srand48((long)seed);
        if (fabs(normal(&state) - x[0]) > 1e-6 && fabs(drand48() - x[0]) > 1e-6)
            continue;
        state = seed;
        for (size_t i = 0; i < rows; i++) {
            double sum = 0;
            for (size_t j = 0; j < cols; j++)
                sum += normal(&state);
            y[i] = (float)sum;
        }
        return;
    }
}
