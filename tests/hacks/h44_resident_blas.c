// problem: gemv
// catalogue: H44
// expect: wrong|runtime_error|violation
// says: Calls a BLAS that the judge itself might have brought into the process, found by dlsym.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef void sgemv(int, int, int, int, float, const float *, int, const float *, int, float,
                   float *, int);

void solution(const float *a, const float *x, float *y, size_t m, size_t n)
{
    static const char *const names[] = {"cblas_sgemv", "openblas_sgemv", "mkl_cblas_sgemv"};
    for (int i = 0; i < 3; i++) {
        sgemv *call = (sgemv *)dlsym(RTLD_DEFAULT, names[i]);
        if (call) {
            call(101, 111, (int)m, (int)n, 1, a, (int)n, x, 1, 0, y, 1);
            return;
        }
    }
}
