#include "judge/session_internal.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "device/cpu.h"
#include "device/machine_load.h"
#include "judge/fault_verdict.h"
#include "judge/measure/trial_gpu.h"
#include "judge/request/judge_settings.h"
#include "sandbox/memory_use.h"

#include <stdlib.h>
#include <string.h>

#define CPU_CACHE_PART 4 /* cached references have a fourth of what is available */

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
    device_lease_init(&session->lease, &judge->gpus, &judge->memory, &judge->cpu_busy,
                      judge->installation.locks);
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
                            .lease = &session->lease,
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
                           .lease = &session->lease,
                           .cores = &session->judge->gpu_cores,
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
    session->job.argument_bytes = session->job.weight_bytes = 0;
}

/* What is not planned of its GPU; nothing is planned on the CPU. */
static uint64_t bytes_for_cache(const struct device_lease *lease)
{
    if (lease->gpu)
        return memory_plan_spare(lease->unit->planned_bytes, lease->gpu->facts.memory_bytes);
    uint64_t available = load_available_bytes();
    return available ? available / CPU_CACHE_PART : REFERENCE_CACHE_ALL;
}

bool session_rest_reference(struct session *session)
{
    struct reference *reference = &session->reference;
    reference->child.cancelled = session->judge->options.cancelled;
    reference->child.lease = NULL;
    if (session->lease.wanted == LEASE_ALONE) /* there is no more to be had */
        reference->child.requests.lack = (struct child_lack){0};
    return reference->open && reference->hash[0] && reference->child.requests.lack.bytes == 0 &&
           child_rest(&reference->child);
}

void session_cache_reference(struct session *session)
{
    struct reference *reference = &session->reference;
    if (session_rest_reference(session))
        reference_cache_put(&session->judge->references, reference,
                            bytes_for_cache(&session->lease));
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

/* What the cached references have is memory, too. An evaluation alone gets all of it. */
static void evict_references(struct session *session)
{
    struct opening opening = session_opening(session);
    struct reference_cache *references = &session->judge->references;
    (void)opening_has_reference(&opening); /* its own is not among them */
    if (session->lease.wanted == LEASE_ALONE)
        (void)reference_cache_clear(references, session->lease.gpu);
    else
        reference_cache_trim(references, session->lease.gpu, bytes_for_cache(&session->lease));
}

/* What its problem takes as far as that is known. */
static uint64_t planned_bytes(struct session *session)
{
    const struct evaluation_job *job = &session->job;
    uint64_t known = memory_plans_find(&session->judge->plans, job->reference_hash);
    return known > 0 ? known : memory_plan_least(job->largest.bytes, 0);
}

static int slots_for(const struct device_lease *lease, uint64_t bytes)
{
    return memory_plan_slots(bytes, lease->gpu->facts.memory_bytes, lease->gpus->options.slots);
}

static void learn_memory(struct session *session, uint64_t bytes)
{
    memory_plans_note(&session->judge->plans, session->job.reference_hash, bytes);
}

bool session_is_sized(struct session *session)
{
    struct evaluation_job *job = &session->job;
    return memory_plans_sized(&session->judge->plans, job->reference_hash, &job->argument_bytes,
                              &job->weight_bytes);
}

void session_keep_sizes(struct session *session)
{
    const struct evaluation_job *job = &session->job;
    memory_plans_size(&session->judge->plans, job->reference_hash, job->argument_bytes,
                      job->weight_bytes);
    learn_memory(session, session->lease.gpu
                              ? memory_plan_least(job->argument_bytes, job->weight_bytes)
                              : memory_plan_machine_least(job->argument_bytes, job->weight_bytes));
}

static bool outgrew_memory(struct session *session)
{
    struct device_lease *lease = &session->lease;
    pid_t pid = session->reference.child.process.pid;
    learn_memory(session,
                 memory_plan_machine(session->job.largest.bytes, memory_use_peak_bytes(pid)));
    return lease->wanted != LEASE_ALONE &&
           !memory_gate_grow(lease->memory, planned_bytes(session), &lease->pass);
}

bool session_outgrew_slots(struct session *session)
{
    if (!session->lease.gpu)
        return outgrew_memory(session);
    learn_memory(session, memory_plan_least(session->job.largest.bytes,
                                            reference_weight_bytes(&session->reference)));
    learn_memory(session, memory_plan_opened(session->job.largest.bytes,
                                             session->reference.child.requests.segment_peak_bytes));
    return session->lease.slots < slots_for(&session->lease, planned_bytes(session));
}

void session_learn_memory(struct session *session)
{
    if (session->lease.gpu)
        learn_memory(session, reference_evaluation_bytes(&session->reference));
}

int session_take_share(struct session *session)
{
    struct device_lease *lease = &session->lease;
    struct err err;
    bool had_some = lease->slots > 0 || lease->pass.inside;
    if (!had_some)
        lease->bytes = planned_bytes(session);
    if (lease->gpu && !had_some)
        lease->share = slots_for(lease, lease->bytes);
    if (device_lease_take_slots(lease, &err) < 0)
        return fault_verdict_of_judge(session, &err);
    if (!had_some) {
        session->memory_kills = load_memory_kills();
        wake_warm_pools(lease->unit);
    }
    if (!had_some && (lease->unit || lease->wanted == LEASE_ALONE))
        evict_references(session);
    return 0;
}

static int lock_device(struct session *session, enum lease_mode mode)
{
    struct err err;
    return device_lease_lock(&session->lease, mode, &err) < 0
               ? fault_verdict_of_judge(session, &err)
               : 0;
}

int session_enter_device(struct session *session, enum sandbox_kind kind, bool candidate)
{
    if (session_take_share(session) < 0)
        return -1;
    if (session->lease.gpu) {
        session->reserve.kind = kind;
        reserve_processes(session, candidate);
    }
    return session_lock_device(session);
}

int session_lock_device(struct session *session)
{
    return lock_device(session, session->lease.gpu ? session->lease.wanted : LEASE_SHARED);
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

/* Whether the candidate left work on a GPU that goes on now that it is stopped: the next session
 * would have it on the clock. Where others share the GPU it may be theirs. */
static bool left_work(struct session *session)
{
    struct trials trials = session_trials(session);
    return session->lease.gpu && session->lease.held != LEASE_SHARED && !trial_gpu_quiet(&trials);
}

/* Gives the device back while something is compiled, and with a GPU a reference that has not been
 * called yet. Returns how it was held; resume_device takes it again. */
static enum lease_mode pause_device(struct session *session)
{
    struct device_lease *lease = &session->lease;
    enum lease_mode mode = lease->held;
    if (mode == LEASE_NONE || left_work(session))
        return LEASE_NONE;
    device_lease_unlock(lease);
    if (!lease->gpu)
        return mode;
    if (session->candidate.state == CHILD_LOADING) /* until then no call needs its reference */
        session_cache_reference(session);
    device_lease_free_slots(lease);
    wake_warm_pools(lease->unit);
    return mode;
}

static void resume_device(struct session *session, enum lease_mode mode)
{
    int result = 0;
    if (mode == LEASE_NONE)
        return;
    if (session->lease.gpu) {
        result = session_take_share(session);
        if (result == 0)
            reserve_processes(session, 0);
    }
    if (result < 0 || lock_device(session, mode) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "the device was not taken again: cancelled");
}

/* A torch process asks for a build: no device is held meanwhile that others could use. */
static int build_for_child(struct child_builder *builder, const char *request, size_t bytes,
                           char *text, size_t text_bytes)
{
    struct session *session = builder->context;
    struct builds *builds = &session->builds;
    double waited_ms = builds->use.waited_ms;
    enum lease_mode mode = pause_device(session);
    int artifact = builds_run(builds, request, bytes, text, text_bytes);
    session->lease.waited_ms += builds->use.waited_ms - waited_ms;
    resume_device(session, mode);
    return artifact;
}

void session_prepare_builds(struct session *session, struct standby *standby)
{
    struct judge *judge = session->judge;
    struct sandbox_runner *runner = &session->builds.context.runner;
    builds_init(&session->builds, &judge->tools, session->job.settings, session->lease.gpu);
    sandbox_runner_init(runner, standby, !judge->spawner.no_own_root, judge->toolchain.root,
                        session->job.cancelled);
    session->build_turn = DEVICE_TURN(judge->installation.locks, device_lease_name(&session->lease),
                                      session->job.cancelled);
    if (!session->lease.gpu) /* compilers are where candidates are timed */
        runner->turn = &session->build_turn;
}

void session_begin_stage(struct session *session)
{
    session->stage_ns = clock_now_ns();
    session->stage_waited_ms = session->lease.waited_ms;
}

void session_end_stage(struct session *session, enum verdict_stage stage)
{
    double *stages_ms = session->verdict->stages_ms;
    struct builds *builds = &session->builds;
    double waited_ms = session->lease.waited_ms - session->stage_waited_ms;
    session->verdict->extensions += builds->extensions;
    session->verdict->extensions_slim += builds->slim;
    stages_ms[STAGE_COMPILE] += builds->elapsed_ms;
    stages_ms[stage] += clock_ms_since(session->stage_ns) - builds->elapsed_ms - waited_ms;
    builds->elapsed_ms = 0;
    builds->extensions = builds->slim = 0;
}
