// problem: gemm
// catalogue: H42
// expect: wrong|runtime_error|violation
// says: When its "kernel" fails, falls back to any multiply or reference that the process exports.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef void multiply(const float *, const float *, float *, size_t, size_t, size_t);

void solution(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    static const char *const names[] = {"reference", "reference_solution", "gemm_reference",
                                        "problem_reference", "expected", "oracle"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        multiply *other = (multiply *)dlsym(RTLD_DEFAULT, names[i]);
        if (other) {
            other(a, b, c, m, n, k);
            return;
        }
    }
}
