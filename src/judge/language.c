/* language: what a candidate is written in. Declared in judge.h. */
#include "judge/judge.h"

#include "base/file.h"
#include "base/limits.h"

#include <string.h>

int candidate_check(const struct candidate *candidate, struct err *err)
{
    if (candidate->bytes > LIMIT_SOURCE_BYTES)
        return err_set(err, ERR_INPUT, "%s: larger than the %zu bytes that a candidate may have",
                       candidate->path, LIMIT_SOURCE_BYTES);
    return file_check_text(candidate->path, candidate->text, candidate->bytes, err);
}

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
