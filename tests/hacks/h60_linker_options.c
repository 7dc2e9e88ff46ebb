// problem: gemm
// catalogue: H60
// expect: load_error|compile_error|runtime_error
// says: Smuggles linker options through pragmas and notes to pull in a library.
#include <stddef.h>

#pragma GCC dependency "stddef.h"
__asm__(".section .drectve,\"\"\n.ascii \"-lopenblas\"\n.section .deplibs,\"MS\",@progbits,1\n"
        ".asciz \"openblas\"\n.text\n");

extern void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *,
                        int, float, float *, int);

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    cblas_sgemm(101, 111, 111, (int)m, (int)n, (int)k, 1, a, (int)k, b, (int)n, 0, c, (int)n);
}
