#include "judge/request/evaluation.h"

#include "base/file.h"
#include "base/limits.h"
#include "judge/request/judge_settings.h"

int candidate_check(const struct candidate *candidate, struct err *err)
{
    if (candidate->bytes > LIMIT_SOURCE_BYTES)
        return err_set(err, ERR_INPUT, "%s: larger than the %zu bytes that a candidate may have",
                       candidate->path, LIMIT_SOURCE_BYTES);
    return file_check_text(candidate->path, candidate->text, candidate->bytes, err);
}

enum torch_precision evaluation_precision(const struct evaluation_job *job)
{
    enum torch_precision chosen = torch_settings(job->settings)->precision;
    return chosen == TORCH_AUTO_PRECISION ? job->problem->precision : chosen;
}

void evaluation_bound(const struct evaluation_job *job, struct answer_bound *bound)
{
    struct err ignored;
    const char *chosen = check_settings(job->settings)->tolerance;
    if (chosen[0] == '\0' || bound_parse(chosen, bound, &ignored) < 0)
        *bound = job->problem->bound;
}
