#include "lm/cpu/loops.h"

extern const struct lm_loops lm_loops_plain, lm_loops_avx2, lm_loops_avx512;

#define SETS 3

/* Narrow to wide; the plain ones run everywhere. */
const struct lm_loops *lm_loops_at(size_t index)
{
    const struct lm_loops *here[SETS + 1] = {&lm_loops_plain};
#if defined(__x86_64__)
    size_t count = 1;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        here[count++] = &lm_loops_avx2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
            here[count++] = &lm_loops_avx512;
    }
#endif
    return index < SETS ? here[index] : NULL;
}

const struct lm_loops *lm_loops_here(void)
{
    const struct lm_loops *widest = NULL;
    for (size_t i = 0; lm_loops_at(i); i++)
        widest = lm_loops_at(i);
    return widest;
}
