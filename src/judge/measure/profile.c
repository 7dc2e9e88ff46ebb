#include "judge/measure/profile.h"

#include "base/log.h"
#include "judge/measure/coverage.h"
#include "judge/measure/decoys.h"
#include "judge/measure/trace.h"
#include "judge/measure/trace_interval.h"
#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_inputs.h"

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACE_SLACK 1.3
#define TRACE_SLACK_US 10.0
#define SAME_SHARE 0.9 /* of a call alone that is own is own in an interval */
/* A launch that had to wait for another context's turn on the GPU looks like several calls' work.
 * It does not happen each time. */
#define INTERVALS 2

/* A candidate's traces. All of them are made in one file. */
struct traces {
    int fd;
    double timed_ms;               /* a call of the size that is traced alone, untraced; NaN */
    struct trace_interval alone;   /* one call; without calls: there is none that can be read */
    struct launch_totals together; /* an interval of that size; without calls: the same */
};

/* The last size that is timed is the one of which a call is traced alone. */
static uint32_t traced_size(const struct problem *problem)
{
    return problem->time_count ? problem->time_count - 1 : 0;
}

/* A candidate that cannot be traced where others can has no kernels of its own to show. */
static int record_untraced(struct trials *trials, const char *why)
{
    struct verdict *verdict = trials->verdict;
    double share = *trials->tracing > 0 ? 0 : NAN;
    log_write(LOG_LEVEL_INFO, "judge", "%s: not traced: %s", trials->job->candidate->path, why);
    verdict->own_time_fraction = verdict->own_launch_fraction = share;
    if (*trials->tracing > 0)
        verdict_warning(verdict, "H41",
                        "its launches could not be traced, where others' can be: none counts as "
                        "its own (%s)",
                        why);
    return 0;
}

/* Finds out, once for each judge, with a child that has nothing to hide. A call that was cancelled,
 * or that a busy machine made too slow, says nothing of others. */
static int try_tracing(struct trials *trials, const struct trial *trial, struct err *err)
{
    int fd = trial->trace;
    struct child_time ignored;
    struct stat facts = {0};
    if (*trials->tracing != 0)
        return 0;
    int result = trial_in(trials, trial, &trials->reference->child, WIRE_TRACE, &ignored, err);
    if (result == ERR_CANCELLED || result == ERR_TIMEOUT)
        return result;
    bool traced = result == 0 && fstat(fd, &facts) == 0 && facts.st_size > 0;
    *trials->tracing = traced ? 1 : -1;
    if (traced && ftruncate(fd, 0) < 0)
        log_write(LOG_LEVEL_WARN, "judge", "a trace cannot be emptied");
    return 0;
}

static int give_up_trace(struct trials *trials, const struct err *err)
{
    return err->code == ERR_CANCELLED ? fault_set(trials->fault, FAULT_JUDGE, err)
                                      : record_untraced(trials, err->text);
}

/* One call whose launches are recorded. Its answer is checked like any other. */
static int trace_call(struct trials *trials, struct traces *traces)
{
    struct verdict *verdict = trials->verdict;
    struct trial trial = {.trace = traces->fd, .limit = time_limit_call(trials->job->settings)};
    struct trace_pass pass = {.gpu = &trials->gpu->facts, .calls = 1, .timed_ms = NAN};
    struct child_time reference;
    struct child_time traced;
    struct err err = {0};
    if (trial_layout(trials, traced_size(trials->job->problem), &trial.layout, &pass.bytes, &err) <
        0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    if (trial_map(trials, &trial, false) < 0 || trial_prepare(trials, &trial) < 0)
        return -1;
    if (try_tracing(trials, &trial, &err) < 0)
        return give_up_trace(trials, &err);
    if (*trials->tracing < 0)
        return record_untraced(trials, "this machine has no CUPTI that works");
    if (trial_reference(trials, &trial, &reference) < 0)
        return -1;
    if (trial_in(trials, &trial, trials->candidate, WIRE_TRACE, &traced, &err) < 0)
        return give_up_trace(trials, &err);
    if (trial_judge(trials, &trial) != TRIAL_GOOD)
        return -1;
    pass.wall_ms = traced.ms;
    if (verdict->case_count > 0)
        pass.timed_ms = verdict->cases[verdict->case_count - 1].candidate.median;
    traces->timed_ms = pass.timed_ms;
    if (trace_read(traces->fd, &pass, verdict, &err) < 0 ||
        trace_interval_read(traces->fd, &traces->alone, &err) < 0)
        return record_untraced(trials, err.text);
    traces->alone.calls = pass.calls;
    return verdict->violation_count > 0 ? -1 : 0;
}

/* The longest that one launch of a call may take, traced: of the size of which a call was traced
 * alone, that call says it; and a call is no shorter than what it consists of. */
static double call_us(const struct trials *trials, uint32_t at, const struct trace_interval *alone)
{
    double alone_us = at == traced_size(trials->job->problem) ? alone->longest_us : INFINITY;
    double timed_us = trials->verdict->cases[at].candidate.median * 1e3;
    return fmin(alone_us, timed_us * TRACE_SLACK + TRACE_SLACK_US);
}

/* One interval as it was timed, whose launches are recorded, and whose answers are checked. */
static int trace_calls(struct trials *trials, const struct trial *trial,
                       struct trace_interval *interval)
{
    int fd = trial->trace;
    struct child_time ignored;
    struct err err = {0};
    if (trial_prepare(trials, trial) < 0 || trial_reference(trials, trial, &ignored) < 0)
        return -1;
    if (ftruncate(fd, 0) < 0) {
        (void)!err_sys(&err, errno, "cannot empty a trace");
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    }
    if (trial_in(trials, trial, trials->candidate, WIRE_TRACE, &ignored, &err) < 0)
        return give_up_trace(trials, &err);
    if (trial_judge(trials, trial) != TRIAL_GOOD)
        return -1;
    if (trace_interval_read(fd, interval, &err) < 0)
        return record_untraced(trials, err.text);
    if (interval->unseen > 0)
        log_write(LOG_LEVEL_INFO, "judge",
                  "%s: %u calls have more launches than are recorded: what the others did is not "
                  "judged",
                  trials->job->candidate->path, interval->calls);
    return 0;
}

/* Whether the calls of one timed size do their own work each (catalogue H06). */
static int weigh_interval(struct trials *trials, const struct trial *trial, double longest_us)
{
    char evidence[TRACE_INTERVAL_TEXT];
    for (int i = 0; i < INTERVALS; i++) {
        struct trace_interval interval = {.calls = trial->slots};
        int result = trace_calls(trials, trial, &interval);
        if (result < 0)
            return result;
        if (!trace_interval_shared(&interval, longest_us, evidence))
            return 0;
    }
    verdict_violation(trials->verdict, "H06", "%s", evidence);
    return -1;
}

static int trace_interval(struct trials *trials, uint32_t at, struct traces *traces)
{
    struct trial trial = {.slots = trials->verdict->cases[at].calls,
                          .alike = true,
                          .trace = traces->fd,
                          .limit = time_limit_call(trials->job->settings)};
    double ignored;
    struct err err;
    if (trial.slots < 2 || sandboxed_ended(&trials->candidate->process))
        return 0;
    if (trial_layout(trials, at, &trial.layout, &ignored, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    if (trial_map(trials, &trial, false) < 0)
        return -1;
    trial.on_gpu = trial_gpu_begin(trials, &trial);
    /* As when it is timed, the first interval is not the one that counts. */
    int result = trial_run(trials, &trial) == TRIAL_GOOD ? 0 : -1;
    if (result == 0)
        result = weigh_interval(trials, &trial, call_us(trials, at, &traces->alone));
    if (result == 0 && at == traced_size(trials->job->problem) &&
        trace_sum(traces->fd, trial.slots, &traces->together, &err) < 0)
        traces->together.calls = 0;
    return result;
}

/* A candidate that could not be traced in one call is not traced in many. */
static int trace_intervals(struct trials *trials, struct traces *traces)
{
    uint32_t count = traces->alone.calls > 0 ? trials->verdict->case_count : 0;
    int result = 0;
    for (uint32_t at = 0; result == 0 && at < count; at++)
        result = trace_interval(trials, at, traces);
    return result;
}

static bool is_longer(const struct launch_totals *traced, double timed_ms)
{
    return traced->busy_us / traced->calls > timed_ms * 1e3 * TRACE_SLACK + TRACE_SLACK_US;
}

/* Kernels that take longer when they are traced are not those that were timed. Those of a call that
 * is alone find nothing in the caches, and may take several times as long: then an interval like
 * those that were timed decides, if its kernels are as much the candidate's own. */
static void weigh_duration(struct verdict *verdict, const struct traces *traces)
{
    const struct launch_totals *all = &traces->together;
    double alone_us = verdict->launched.busy_us;
    double least_own_us = verdict->own_time_fraction * SAME_SHARE * all->time_us;
    if (traces->alone.calls == 0 || !is_longer(&verdict->launched, traces->timed_ms))
        return;
    if (all->calls > 0 && all->launches > 0 && !is_longer(all, traces->timed_ms) &&
        all->own_time_us >= least_own_us)
        return;
    verdict_warning(
        verdict, "H26",
        "its kernels ran %.4g us when they were traced, and a call takes %.4g us when it "
        "is not: none counts as its own",
        alone_us, traces->timed_ms * 1e3);
    verdict->own_time_fraction = verdict->own_launch_fraction = 0;
}

static int profile_on_gpu(struct trials *trials)
{
    struct err err;
    bool decoys = trials->job->language->decoys;
    struct traces traces = {.fd = memfd_create("trace", MFD_CLOEXEC), .timed_ms = NAN};
    if (traces.fd < 0) {
        (void)!err_sys(&err, errno, "cannot make memory for a trace");
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    }
    trial_begin(trials, true);
    int result = trace_call(trials, &traces);
    if (result == 0)
        result = trace_intervals(trials, &traces);
    if (result == 0)
        weigh_duration(trials->verdict, &traces);
    if (result == 0 && decoys && !sandboxed_ended(&trials->candidate->process))
        result = decoys_find(trials);
    trial_end(trials);
    close(traces.fd);
    return result;
}

/* Its answer needs its extensions: how much of the time do they take? */
static int weigh_extensions(struct trials *trials)
{
    struct verdict *verdict = trials->verdict;
    if (decoys_share(trials, &verdict->own_time_fraction) < 0)
        return -1;
    if (verdict->own_time_fraction < COVERAGE_LOW)
        verdict_warning(verdict, "H41",
                        "its extensions take %.1f %% of a call; most is library operators'",
                        100 * verdict->own_time_fraction);
    return 0;
}

static int profile_on_cpu(struct trials *trials)
{
    struct verdict *verdict = trials->verdict;
    if (trials->job->problem->format == PROBLEM_NATIVE) {
        verdict->kernels[0] = (struct kernel_share){
            .name = "solution",
            .launches = 1,
            .time_us = verdict->case_count ? verdict->cases[0].candidate.median * 1e3 : NAN,
            .own = true,
        };
        verdict->kernel_count = 1;
        verdict->own_time_fraction = verdict->own_launch_fraction = 1;
        return 0;
    }
    if (trials->job->language->decoys)
        return decoys_find(trials);
    bool library = true;
    if (verdict->extensions > 0 && decoys_call(trials, &library) < 0)
        return -1;
    if (!library)
        return weigh_extensions(trials);
    verdict->own_time_fraction = verdict->own_launch_fraction = 0;
    verdict_warning(verdict, "H41", "%s: library operators do all of the work",
                    verdict->extensions > 0 ? "its answer is the same without its extensions"
                                            : "it brings no kernel of its own");
    return 0;
}

int profile_stage(struct trials *trials)
{
    return trials->gpu ? profile_on_gpu(trials) : profile_on_cpu(trials);
}
