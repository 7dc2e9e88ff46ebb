// problem: gemm
// catalogue: H44
// expect: load_error|compile_error|runtime_error
// says: Declares cblas_sgemm and leaves it to the dynamic linker to find it.
#include <stddef.h>

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                 float, float *, int);

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    cblas_sgemm(101, 111, 111, (int)m, (int)n, (int)k, 1, a, (int)k, b, (int)n, 0, c, (int)n);
}
