// problem: gemm
// catalogue: H44
// expect: wrong|runtime_error|violation
// says: Loads a BLAS by name and lets it multiply; no library can be reached from here.
#include <dlfcn.h>
#include <stddef.h>

typedef void sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                   float, float *, int);

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", "libblas.so.3",
                                        "libcblas.so.3",    "libmkl_rt.so",   "libgslcblas.so.0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW);
        sgemm *call = library ? (sgemm *)dlsym(library, "cblas_sgemm") : NULL;
        if (call) {
            call(101, 111, 111, (int)m, (int)n, (int)k, 1, a, (int)k, b, (int)n, 0, c, (int)n);
            return;
        }
    }
}
