/* language: what a candidate is written in. Declared in judge.h. */
#include "judge/judge.h"

#include <string.h>

const char *candidate_language(const char *path, const char *text)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".py") == 0) {
        if (strstr(text, "cuda_sources") || strstr(text, "__global__"))
            return "torch-cuda";
        return strstr(text, "@triton.jit") ? "triton" : "python";
    }
    if ((dot && (strcmp(dot, ".cu") == 0 || strcmp(dot, ".cuh") == 0)) ||
        strstr(text, "__global__"))
        return "cuda";
    return "c";
}
