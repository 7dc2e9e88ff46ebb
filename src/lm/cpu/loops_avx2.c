/* AVX2 and FMA (the Makefile says so to the compiler). */
#if defined(__x86_64__)
#define LOOPS lm_loops_avx2
#define LOOPS_NAME "avx2"
#define VECTOR_BYTES 32
#include "lm/cpu/loops_code.h"
#endif
