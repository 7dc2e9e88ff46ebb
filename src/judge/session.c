#include "judge/session_internal.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "device/cpu.h"
#include "judge/fault_verdict.h"
#include "judge/request/judge_settings.h"

#include <stdlib.h>
#include <string.h>

static int build_for_child(struct child_builder *builder, const char *request, size_t bytes,
                           char *text, size_t text_bytes);

struct session *session_new(struct judge *judge)
{
    struct session *session = mem_alloc(sizeof *session);
    session->judge = judge;
    session->job.settings = judge->options.settings;
    session->job.cancelled = judge->options.cancelled;
    session->reference = REFERENCE_NONE;
    session->builder = (struct child_builder){.build = build_for_child, .context = session};
    session->trials.place = judge->sessions++;
    device_lease_init(&session->lease, &judge->gpus, &judge->cpu_busy, judge->installation.locks);
    return session;
}

void session_free(struct session *session)
{
    if (!session)
        return;
    reference_close(&session->reference);
    trial_state_deinit(&session->trials);
    mem_free(session);
}

static uint32_t child_threads(const struct settings *settings)
{
    const struct run_settings *run = run_settings(settings);
    struct cpu cpu;
    if (run->threads.given)
        return (uint32_t)run->threads.value;
    cpu_detect(&cpu);
    return (uint32_t)cpu.cores;
}

struct opening session_opening(struct session *session)
{
    struct judge *judge = session->judge;
    return (struct opening){.job = &session->job,
                            .spawner = &judge->spawner,
                            .reserve = &session->reserve,
                            .unit = session->lease.unit,
                            .gpu = session->lease.gpu,
                            .no_gpu = &session->no_gpu,
                            .build = &session->builds.context,
                            .builder = &session->builder,
                            .references = &judge->references,
                            .threads = child_threads(judge->options.settings),
                            .reference = &session->reference,
                            .candidate = &session->candidate,
                            .verdict = session->verdict,
                            .fault = &session->fault};
}

struct trials session_trials(struct session *session)
{
    return (struct trials){.job = &session->job,
                           .gpu = session->lease.gpu,
                           .unit = session->lease.unit,
                           .tracing = &session->judge->tracing,
                           .reference = &session->reference,
                           .candidate = &session->candidate,
                           .state = &session->trials,
                           .verdict = session->verdict,
                           .fault = &session->fault};
}

static uint64_t weight_seed(const struct judge *judge, const struct problem *problem)
{
    char hex[HASH_HEX_BYTES];
    struct hash *hash = hash_new();
    hash_update(hash, &judge->weight_secret, sizeof judge->weight_secret);
    hash_update_string(hash, problem->hash);
    hash_finish(hash, hex);
    hex[15] = '\0';
    return strtoull(hex, NULL, 16);
}

void session_take_problem(struct session *session, const struct problem *problem)
{
    session->job.problem = problem;
    session->job.weight_seed = weight_seed(session->judge, problem);
    problem_largest(problem, &session->job.largest);
    reference_key(problem, session->job.settings, session->job.reference_hash);
}

void session_cache_reference(struct session *session)
{
    struct reference *reference = &session->reference;
    reference->child.cancelled = session->judge->options.cancelled; /* no evaluation's for now */
    if (reference->open && reference->hash[0] && child_rest(&reference->child))
        reference_cache_put(&session->judge->references, reference);
    else
        reference_close(reference);
}

/* How many processes may be started ahead depends on how many slots are taken. */
static void wake_warm_pools(const struct gpu_unit *unit)
{
    for (int kind = 0; unit && kind < SANDBOX_BUILD; kind++)
        warm_pool_wake(unit->warm[kind]);
}

/* For so many children, and for the reference unless it is there. */
static void reserve_processes(struct session *session, uint32_t children)
{
    struct opening opening = session_opening(session);
    int64_t start_ns = clock_now_ns();
    uint32_t processes = children + !opening_has_reference(&opening);
    spawner_reserve(&session->judge->spawner, session->lease.unit, &session->reserve, processes,
                    session->job.cancelled);
    session->lease.waited_ms += clock_ms_since(start_ns);
}

/* No other session is there now: what the cached references have is memory, too. */
static void clear_others(struct session *session)
{
    struct opening opening = session_opening(session);
    (void)opening_has_reference(&opening); /* its own is not among them */
    (void)reference_cache_clear(&session->judge->references, session->lease.gpu);
}

static int take_slots(struct session *session)
{
    struct device_lease *lease = &session->lease;
    struct err err;
    bool had_some = lease->slots > 0;
    if (device_lease_take_slots(lease, &err) < 0)
        return fault_verdict_of_judge(session, &err);
    if (!had_some)
        wake_warm_pools(lease->unit);
    if (lease->unit && !had_some && lease->wanted == LEASE_ALONE)
        clear_others(session);
    return 0;
}

static int lock_device(struct session *session, enum lease_mode mode)
{
    struct err err;
    return device_lease_lock(&session->lease, mode, &err) < 0
               ? fault_verdict_of_judge(session, &err)
               : 0;
}

int session_enter_device(struct session *session, enum sandbox_kind kind)
{
    if (!session->lease.gpu)
        return 0;
    session->reserve.kind = kind;
    if (take_slots(session) < 0)
        return -1;
    reserve_processes(session, 1);
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

void session_release_device(struct session *session)
{
    bool had_slots = session->lease.slots > 0;
    spawner_release(&session->reserve);
    device_lease_release(&session->lease);
    if (had_slots)
        wake_warm_pools(session->lease.unit);
}

/* Gives a GPU back while something is compiled, unless it is being timed, and with it a reference
 * that has not been called yet. Returns how it was held; resume_device takes it again. */
static enum lease_mode pause_device(struct session *session)
{
    struct device_lease *lease = &session->lease;
    enum lease_mode mode = lease->held;
    if (!lease->gpu || (mode != LEASE_SHARED && mode != LEASE_ALONE))
        return LEASE_NONE;
    device_lease_unlock(lease);
    if (session->candidate.state == CHILD_LOADING) /* until then no call needs its reference */
        session_cache_reference(session);
    device_lease_free_slots(lease);
    wake_warm_pools(lease->unit);
    return mode;
}

static void resume_device(struct session *session, enum lease_mode mode)
{
    if (mode == LEASE_NONE)
        return;
    int result = take_slots(session);
    if (result == 0)
        reserve_processes(session, 0);
    if (result < 0 || lock_device(session, mode) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "the device was not taken again: cancelled");
}

/* A torch process asks for a build: no device is held meanwhile that others could use. */
static int build_for_child(struct child_builder *builder, const char *request, size_t bytes,
                           char *text, size_t text_bytes)
{
    struct session *session = builder->context;
    int64_t start_ns = clock_now_ns();
    enum lease_mode mode = pause_device(session);
    session->builds.elapsed_ms += clock_ms_since(start_ns);
    int artifact = builds_run(&session->builds, request, bytes, text, text_bytes);
    start_ns = clock_now_ns();
    resume_device(session, mode);
    session->builds.waited_ms += clock_ms_since(start_ns);
    return artifact;
}

void session_prepare_builds(struct session *session, struct standby *standby)
{
    struct judge *judge = session->judge;
    builds_init(&session->builds, &judge->tools, session->job.settings, session->lease.gpu);
    sandbox_runner_init(&session->builds.context.runner, standby, !judge->spawner.no_own_root,
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
