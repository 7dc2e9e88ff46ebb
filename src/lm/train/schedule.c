#include "lm/train/optimizer.h"

#include <math.h>

static double constant(double x)
{
    return 1;
}

static double linear(double x)
{
    return 1 - x;
}

static double cosine(double x)
{
    return (1 + cos(M_PI * x)) / 2;
}

/* Each from 1 at 0 to what it ends with at 1. */
static double (*const shapes[])(double x) = {constant, linear, cosine};

double lm_schedule_rate(enum lm_schedule schedule, double peak, double floor, uint64_t warmup,
                        uint64_t steps, uint64_t step)
{
    if (step < warmup)
        return peak * (double)(step + 1) / (double)warmup;
    double x = step < steps ? (double)(step - warmup) / (double)(steps - warmup) : 1;
    return floor + (peak - floor) * shapes[schedule](x);
}
