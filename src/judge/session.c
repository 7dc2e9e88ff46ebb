#include "judge/session_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "device/cpu.h"
#include "judge/fault.h"
#include "judge/measure/trial_gpu.h"
#include "judge/reference/session_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A torch process asks for a build: no device is held meanwhile that others could use. */
static int build_for_child(struct child_builder *builder, const char *request, size_t bytes,
                           char *text, size_t text_bytes)
{
    struct session *session = builder->context;
    int64_t start_ns = clock_now_ns();
    enum lease_mode mode = session_pause_device(session);
    session->builds.elapsed_ms += clock_ms_since(start_ns);
    int artifact = builds_run(&session->builds, request, bytes, text, text_bytes);
    start_ns = clock_now_ns();
    session_resume_device(session, mode);
    session->builds.waited_ms += clock_ms_since(start_ns);
    return artifact;
}

struct session *session_new(struct judge *judge)
{
    struct session *session = mem_alloc(sizeof *session);
    session->judge = judge;
    session->job.settings = judge->options.settings;
    session->job.cancelled = judge->options.cancelled;
    session->reference = REFERENCE_NONE;
    session->builder = (struct child_builder){.build = build_for_child, .context = session};
    session->trials.place = judge->sessions++;
    device_lease_init(&session->lease, judge);
    return session;
}

void session_free(struct session *session)
{
    if (!session)
        return;
    reference_close(&session->reference);
    session_free_gpu_memory(session);
    trials_deinit(&session->trials);
    mem_free(session);
}

void session_free_gpu_memory(struct session *session)
{
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        gpu_memory_free(&session->trials.answer.kept_on_gpu[i]);
    trial_gpu_end(session);
}

/* Peak resident memory of a live process, from /proc. */
static uint64_t peak_memory(const struct sandboxed *process)
{
    char path[64];
    char line[256];
    uint64_t kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->pid);
    FILE *file = process->pid > 0 ? fopen(path, "re") : NULL;
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtoull(line + 6, NULL, 10);
    fclose(file);
    return kilobytes * 1024;
}

void session_end_candidate(struct session *session)
{
    struct verdict *verdict = session->verdict;
    const struct sandboxed *process = &session->candidate.process;
    if (process->layers)
        verdict->layers = process->layers;
    if (process->pid > 0)
        verdict->peak_memory_bytes = peak_memory(process);
    int64_t start_ns = clock_now_ns();
    child_close(&session->candidate);
    log_write(LOG_LEVEL_DEBUG, "judge", "the candidate's process ended in %.0f ms",
              clock_ms_since(start_ns));
}

int session_threads(const struct session *session)
{
    struct cpu cpu;
    int64_t wanted = session->judge->options.settings->run_threads;
    if (wanted > 0)
        return (int)wanted;
    cpu_detect(&cpu);
    return cpu.cores;
}

/* No other session is there now: what the cached references have is memory, too. */
static void clear_others(struct session *session)
{
    (void)session_reference_ready(session); /* its own is not among them */
    (void)reference_cache_clear(&session->judge->references, session->lease.gpu);
}

static int take_slots(struct session *session)
{
    struct device_lease *lease = &session->lease;
    struct err err;
    bool had_some = lease->slots > 0;
    if (device_lease_take_slots(lease, &err) < 0)
        return fault_judge(session, &err);
    if (lease->unit && !had_some && lease->wanted == LEASE_ALONE)
        clear_others(session);
    return 0;
}

static int lock_device(struct session *session, enum lease_mode mode)
{
    struct err err;
    return device_lease_lock(&session->lease, mode, &err) < 0 ? fault_judge(session, &err) : 0;
}

int session_enter_device(struct session *session, enum sandbox_kind kind)
{
    if (!session->lease.gpu)
        return 0;
    session->lease.kind = kind;
    if (take_slots(session) < 0)
        return -1;
    device_lease_reserve(&session->lease, 1 + !session_reference_ready(session));
    return session_lock_device(session);
}

int session_lock_device(struct session *session)
{
    return lock_device(session, session->lease.wanted);
}

int session_lock_device_for_timing(struct session *session)
{
    device_lease_unlock(&session->lease);
    return lock_device(session, LEASE_TIMED);
}

enum lease_mode session_pause_device(struct session *session)
{
    struct device_lease *lease = &session->lease;
    enum lease_mode mode = lease->held;
    if (!lease->gpu || (mode != LEASE_SHARED && mode != LEASE_ALONE))
        return LEASE_NONE;
    device_lease_unlock(lease);
    if (session->candidate.state ==
        CHILD_LOADING) /* no call needs its reference before that ends */
        session_rest_reference(session);
    device_lease_free_slots(lease);
    return mode;
}

void session_resume_device(struct session *session, enum lease_mode mode)
{
    if (mode == LEASE_NONE)
        return;
    int result = take_slots(session);
    if (result == 0)
        device_lease_reserve(&session->lease, !session_reference_ready(session));
    if (result < 0 || lock_device(session, mode) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "the device was not taken again: cancelled");
}

void session_prepare_builds(struct session *session, struct standby *standby)
{
    struct judge *judge = session->judge;
    builds_init(&session->builds, judge, session->job.settings, session->lease.gpu);
    sandbox_runner_init(&session->builds.context.runner, standby, !judge->no_own_root,
                        judge->toolchain.root, session->job.cancelled);
}

void session_end_stage(struct session *session, enum verdict_stage stage, int64_t start_ns)
{
    double *stages_ms = session->verdict->stages_ms;
    struct builds *builds = &session->builds;
    session->verdict->extensions += builds->extensions;
    session->verdict->extensions_slim += builds->slim;
    stages_ms[STAGE_COMPILE] += builds->elapsed_ms;
    stages_ms[stage] += clock_ms_since(start_ns) - builds->elapsed_ms - builds->waited_ms;
    builds->elapsed_ms = builds->waited_ms = 0;
    builds->extensions = builds->slim = 0;
}
