#include "../support/fake_cuda.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char fake_cuda[PATH_MAX + 16];

/* Built beside this program's folder. */
int fake_cuda_find(void **state)
{
    char self[PATH_MAX] = "";
    (void)state;
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return -1;
    for (int up = 0; up < 2; up++)
        *strrchr(self, '/') = '\0';
    snprintf(fake_cuda, sizeof fake_cuda, "%s/fake/cuda.so", self);
    return access(fake_cuda, R_OK);
}

int fake_cuda_clean(void **state)
{
    (void)state;
    unsetenv("FAKE_CUDA_DEVICES");
    unsetenv("FAKE_CUDA_FAIL");
    unsetenv("FAKE_CUDA_ERROR");
    return 0;
}
