/* time_limit: how long a process may take for a step, and the setting that says so. Values. */
#pragma once

#include "base/err.h"
#include "base/settings.h"

#include <stdint.h>

struct time_limit {
    int64_t ms;
    const char *setting; /* its name, static; NULL: the judge's own limit */
    int64_t more_ms;     /* beside the setting's */
};

/* run.timeout_ms: one call */
struct time_limit time_limit_call(const struct settings *settings);
/* run.first_call_timeout_ms, or six calls: kernels may tune themselves in it */
struct time_limit time_limit_first_call(const struct settings *settings);
/* run.load_timeout_ms: loading, and any step of a process that is trusted */
struct time_limit time_limit_load(const struct settings *settings);
/* With what a problem itself needs: four times as long as its reference took. */
struct time_limit time_limit_beside(struct time_limit limit, double reference_ms);

int64_t time_limit_deadline_ns(const struct time_limit *limit, int64_t start_ns);
/* ERR_TIMEOUT: "one call took longer than 10 s (run.timeout_ms)". */
int time_limit_passed(const struct time_limit *limit, const char *step, struct err *err);
