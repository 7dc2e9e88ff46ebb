// problem: softmax
// catalogue: H43
// expect: wrong|runtime_error|violation
// says: Looks for the next symbol named solution, the reference's, and calls that.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

typedef void softmax(const float *, float *, size_t, size_t);

void solution(const float *x, float *y, size_t rows, size_t cols);

static int visit(struct dl_phdr_info *info, size_t bytes, void *found)
{
    void *handle = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    void *symbol = handle ? dlsym(handle, "solution") : NULL;
    (void)bytes;
    if (symbol && symbol != (void *)solution)
        *(void **)found = symbol;
    return 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    softmax *reference = (softmax *)dlsym(RTLD_NEXT, "solution");
    if (!reference)
        dl_iterate_phdr(visit, &reference);
    if (reference && reference != solution)
        reference(x, y, rows, cols);
}
