#include "rl/method/overlong.h"

#include <math.h>

double rl_overlong_penalty(size_t tokens, size_t most, size_t buffer, double factor)
{
    double beyond = (double)tokens - ((double)most - (double)buffer);
    return buffer > 0 ? fmax(beyond / (double)buffer * factor, 0) : 0;
}
