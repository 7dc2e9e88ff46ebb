#include "judge/request/evaluation.h"

#include "base/file.h"
#include "base/limits.h"

int candidate_check(const struct candidate *candidate, struct err *err)
{
    if (candidate->bytes > LIMIT_SOURCE_BYTES)
        return err_set(err, ERR_INPUT, "%s: larger than the %zu bytes that a candidate may have",
                       candidate->path, LIMIT_SOURCE_BYTES);
    return file_check_text(candidate->path, candidate->text, candidate->bytes, err);
}
