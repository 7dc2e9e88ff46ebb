/* AVX-512 F, BW, DQ and VL (the Makefile says so to the compiler). */
#if defined(__x86_64__)
#define LOOPS lm_loops_avx512
#define LOOPS_NAME "avx512"
#define VECTOR_BYTES 64
#include "lm/cpu/loops_code.h"
#endif
