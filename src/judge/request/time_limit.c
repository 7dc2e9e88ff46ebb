#include "judge/request/time_limit.h"

#include "judge/request/judge_settings.h"

#define TUNING_CALLS 6 /* that the first call of a kernel which tunes itself may take */
#define BESIDE 4       /* calls of the reference's */

struct time_limit time_limit_call(const struct settings *settings)
{
    return (struct time_limit){run_settings(settings)->timeout_ms, "run.timeout_ms", 0};
}

struct time_limit time_limit_first_call(const struct settings *settings)
{
    const struct run_settings *run = run_settings(settings);
    int64_t own_ms = run->first_call_timeout_ms;
    return (struct time_limit){own_ms ? own_ms : TUNING_CALLS * run->timeout_ms,
                               own_ms ? "run.first_call_timeout_ms" : "six times run.timeout_ms",
                               0};
}

struct time_limit time_limit_load(const struct settings *settings)
{
    return (struct time_limit){run_settings(settings)->load_timeout_ms, "run.load_timeout_ms", 0};
}

struct time_limit time_limit_beside(struct time_limit limit, double reference_ms)
{
    limit.more_ms = (int64_t)(BESIDE * reference_ms);
    return limit;
}

int64_t time_limit_deadline_ns(const struct time_limit *limit, int64_t start_ns)
{
    return start_ns + (limit->ms + limit->more_ms) * 1000000;
}

int time_limit_passed(const struct time_limit *limit, const char *step, struct err *err)
{
    double seconds = (double)(limit->ms + limit->more_ms) * 1e-3;
    bool more = limit->more_ms > limit->ms / 100;
    if (!limit->setting)
        return err_set(err, ERR_TIMEOUT, "%s took longer than %.3g s", step, seconds);
    return err_set(err, ERR_TIMEOUT, "%s took longer than %.3g s (%s%s)", step, seconds,
                   limit->setting, more ? ", and four times what the reference took" : "");
}
