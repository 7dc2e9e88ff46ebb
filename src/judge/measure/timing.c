#include "judge/measure/timing.h"

#include "base/clock.h"
#include "base/log.h"
#include "judge/gpu/clocks.h"
#include "judge/measure/roofline.h"
#include "judge/measure/sampling.h"
#include "judge/measure/timing_trust.h"
#include "judge/measure/trial_choice.h"
#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_inputs.h"
#include "judge/process/memory_budget.h"
#include "judge/request/judge_settings.h"
#include "sandbox/processor_time.h"

#include <math.h>

#define BATCH_MS 1.5       /* of calls between two readings of the clock, on a GPU, at most */
#define TORCH_BATCH_MS 4.0 /* PyTorch takes up to 200 µs until the first kernel starts */
#define BATCHES 15.0       /* that the budget should have room for; of native calls: */
#define NATIVE_BATCHES 40.0
#define LONG_MS 12.0    /* of a call that may be alone: its start is the reference's, too */
#define LONGEST_MS 60.0 /* of the reference's calls in an interval, for a faster candidate */
#define SLOWEST_MS 1e3  /* of a slow candidate's; half of what one call may take, if that is less */
#define STOP_MS 0.03    /* that a candidate may take to stop, beside what the reference takes */
#define START_MS 0.015  /* that the first call of an interval waits until it starts, */
#define CALL_MS 0.004   /* and what any takes at the least */
#define FEWER 1.5       /* calls than could be are too few */
#define FEW 4           /* calls, of which one that starts from nothing says too little */
#define ENLARGED 3      /* times at the most: more calls say better how many to make */
#define HOST_BYTES 64e6 /* of their arguments, where those pass through the host */
#define BATCH_BYTES 4e9 /* and where they don't */
/* Of the dispatch overhead, that the reference may have spent before its first kernel. */
#define OWN_OVERHEAD 0.5
#define AHEAD_MS 0.02        /* of processor time before a call: more than a thread takes to stop */
#define RESUME_TIMES 4.0     /* as long as the pair that resumed it lasts a turn, at the least, */
#define RESUME_MOST_MS 250.0 /* and no longer than that for the pair's sake */

/* One pair of calls on the same fresh inputs. 0, or -1 with the verdict's end. */
static int call_pair(struct trials *trials, const struct trial *trial, bool candidate_first,
                     struct child_time *reference, struct child_time *candidate)
{
    int64_t start_ns = clock_now_ns();
    if (trial_prepare(trials, trial) < 0)
        return -1;
    int64_t prepared_ns = clock_now_ns();
    if (trial->on_gpu && trial_gpu_idle(trials) < 0)
        return -1;
    int64_t idle_ns = clock_now_ns();
    if (candidate_first && trial_candidate(trials, trial, candidate) < 0)
        return -1;
    if (trial_reference(trials, trial, reference) < 0)
        return -1;
    if (!candidate_first && trial_candidate(trials, trial, candidate) < 0)
        return -1;
    int64_t called_ns = clock_now_ns();
    bool good = trial_judge(trials, trial) == TRIAL_GOOD;
    log_write(LOG_LEVEL_DEBUG, "timing", "ms: prepare %.2f, idle %.2f, calls %.2f, judge %.2f",
              (double)(prepared_ns - start_ns) * 1e-6, (double)(idle_ns - prepared_ns) * 1e-6,
              (double)(called_ns - idle_ns) * 1e-6, clock_ms_since(called_ns));
    return good ? 0 : -1;
}

/* Before an interval. More calls make it hardly faster, and longer ones cost too much. */
struct warming {
    double most, most_ms; /* calls, and what they may take, unless there is only one */
    double call_ms;       /* of the longest call that is warmed */
};
static const struct warming on_cpu = {.most = 3, .most_ms = 4, .call_ms = 16};
static const struct warming on_gpu = {.most = 16, .most_ms = 0.5, .call_ms = 4};

/* Both children are as warm as a loop of calls leaves them, the reference whatever the candidate
 * swept out of the caches. As many times for both, by the longer of their last calls. */
static uint32_t warm_ups_after(const struct trials *trials, const struct trial *trial,
                               const struct child_time *reference,
                               const struct child_time *candidate)
{
    const struct warming *warming = trials->gpu ? &on_gpu : &on_cpu;
    double ms = fmax(reference->ms, candidate->ms) / fmax(trial->slots, 1);
    if (trials->job->problem->format != PROBLEM_TORCH || ms > warming->call_ms ||
        (trials->gpu && trials->state->gpu.image_on_host))
        return 0;
    double count = warming->most_ms / fmax(ms, SAMPLING_RESOLUTION_MS);
    return (uint32_t)fmax(1, fmin(count, warming->most));
}

/* Threads that spin take a moment to stop, which is free. */
static void keep_around(double *const around[], size_t at, const struct child_time *time,
                        double free_stop_ms, double calls)
{
    around[AROUND_INPUTS][at] = time->inputs_ms / calls;
    around[AROUND_SAMPLES][at] = time->sample_ms / calls;
    around[AROUND_STOP][at] = fmax(time->stop_ms - free_stop_ms, 0) / calls;
}

/* Of two pairs that follow each other the first order is drawn, the second is the other one. */
static int sample_pair(struct trials *trials, struct trial *trial, struct sampling *sampling)
{
    size_t at = sampling->count;
    bool candidate_first = at % 2 ? !sampling->candidate_first[at - 1] : clock_secret() & 1;
    struct child_time reference;
    struct child_time candidate;
    if (call_pair(trials, trial, candidate_first, &reference, &candidate) < 0)
        return -1;
    double calls = trial->slots;
    sampling->reference[at] = (reference.ms - reference.inputs_ms) / calls;
    sampling->candidate[at] = (candidate.ms - candidate.inputs_ms) / calls;
    sampling->overhead[at] = sampling->reference[at] - reference.own_ms / calls;
    sampling->issue[at] = reference.issue_ms / calls;
    keep_around(sampling->around, at, &reference, 0, calls);
    keep_around(sampling->candidate_around, at, &candidate, STOP_MS, calls);
    log_write(LOG_LEVEL_DEBUG, "timing",
              "%u calls, inputs+rest/own/issue/samples/stop ms: "
              "reference %.4f+%.4f/%.4f/%.4f/%.4f/%.4f, candidate %.4f+%.4f/%.4f/%.4f/%.4f%s",
              trial->slots, reference.inputs_ms, reference.ms - reference.inputs_ms,
              reference.own_ms, reference.issue_ms, reference.sample_ms, reference.stop_ms,
              candidate.inputs_ms, candidate.ms - candidate.inputs_ms, candidate.own_ms,
              candidate.sample_ms, candidate.stop_ms, candidate_first ? ", first" : "");
    sampling->candidate_first[at] = candidate_first;
    sampling->count++;
    sampling_settle(sampling);
    sampling->ahead += candidate.ahead_ms > AHEAD_MS;
    sampling->most_ahead_ms = fmax(sampling->most_ahead_ms, candidate.ahead_ms);
    trial->warm_ups = warm_ups_after(trials, trial, &reference, &candidate);
    return 0;
}

/* Intervals that end before their last slots: a candidate that answers several calls at once has
 * written where no call was made (catalogue H06). Two neighbouring numbers of calls, because a
 * group of calls that ends with the one doesn't end with the other. */
static int stop_short(struct trials *trials, const struct trial *trial)
{
    struct trial some = *trial;
    struct child_time ignored;
    uint32_t most = trial->slots > 2 ? trial->slots - 2 : 1;
    uint32_t first = 1 + (uint32_t)(clock_secret() % most);
    for (some.calls = first; some.calls <= first + 1 && some.calls < trial->slots; some.calls++)
        if (call_pair(trials, &some, clock_secret() & 1, &ignored, &ignored) < 0)
            return -1;
    return 0;
}

/* How the processors were used before the first pair. */
struct processor_uses {
    struct processor_use candidate, reference;
};

static struct processor_uses uses_now(const struct trials *trials)
{
    return (struct processor_uses){
        .candidate = processor_time_threads(trials->candidate->process.pid),
        .reference = processor_time_threads(trials->reference->child.process.pid),
    };
}

static bool is_enough(const struct trials *trials, struct sampling *sampling, double budgets,
                      const struct processor_uses *first)
{
    const struct timing_settings *timing = timing_settings(trials->job->settings);
    const struct processor_use *before = &first->candidate;
    struct processor_uses now = *first;
    bool decides = !sampling->drifts && sampling->count >= (size_t)timing->min_samples;
    if (decides || budgets > 1)
        now = uses_now(trials);
    double waited_ns = (double)(now.reference.delayed_ns - first->reference.delayed_ns);
    double used_ns = (double)(now.reference.used_ns - first->reference.used_ns);
    sampling->waited_ms = waited_ns * 1e-6 / (double)sampling->count;
    sampling->waited_part = waited_ns > 0 ? waited_ns / (waited_ns + used_ns) : 0;
    struct timing_progress progress = {
        .sampling = sampling,
        .settings = timing,
        .target = trials->gpu ? timing->gpu_target : timing->target,
        .budgets = budgets,
        .used_ms = (double)(now.candidate.used_ns - before->used_ns) * 1e-6,
        .delayed_ms = (double)(now.candidate.delayed_ns - before->delayed_ns) * 1e-6,
        .processors = child_processors(trials->candidate)};
    const double *reference;
    const double *candidate;
    sampling_take_off(sampling, &reference, &candidate);
    stats_ratio(reference, candidate, sampling->count, &progress.speedup);
    log_write(LOG_LEVEL_DEBUG, "timing", "waited %.4f ms a pair, %.3f", sampling->waited_ms,
              sampling->waited_part);
    enum timing_end end = timing_trust_end(&progress);
    sampling->slower = end == TIMING_SLOWER;
    return end != TIMING_GOES_ON;
}

/* A turn with the device, and how long the pair took that resumed it. */
struct timing_turn {
    int64_t since_ns;
    double resume_ms;
};

/* Most of a turn is for pairs that count. */
static bool is_worth(const struct timing_turn *turn)
{
    double least_ms = RESUME_TIMES * turn->resume_ms;
    return clock_ms_since(turn->since_ns) >= fmin(least_ms, RESUME_MOST_MS);
}

/* Between two pairs the device may be another session's for a while; what that left in caches, and
 * how fast the clocks go then, is on no clock of ours. *start_ns moves by the time it takes. */
static int let_others_in(struct trials *trials, const struct trial *trial, struct timing_turn *turn,
                         int64_t *start_ns)
{
    struct err err;
    struct child_time ignored;
    int64_t paused_ns = clock_now_ns();
    if (!is_worth(turn) || !device_lease_over(trials->lease))
        return 0;
    if (trial->on_gpu && trial_gpu_idle(trials) < 0)
        return -1;
    if (device_lease_pass(trials->lease, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    turn->since_ns = clock_now_ns();
    int result = call_pair(trials, trial, true, &ignored, &ignored);
    turn->resume_ms = clock_ms_since(turn->since_ns);
    *start_ns += clock_now_ns() - paused_ns;
    return result;
}

/* It is random before which pair intervals end early: once among the fewest that are taken, and
 * then less and less often. */
static int sample_case(struct trials *trials, struct trial *trial, struct sampling *sampling,
                       double budget_ms, struct clocks *clocks)
{
    size_t fewest = (size_t)timing_settings(trials->job->settings)->min_samples;
    bool shortens = trials->job->problem->format == PROBLEM_NATIVE && trial->slots > 1;
    size_t short_at = 1 + clock_secret() % fewest;
    struct processor_uses first = uses_now(trials);
    int64_t start_ns = clock_now_ns();
    struct timing_turn turn = {.since_ns = start_ns};
    bool enough = false;
    while (!enough && sampling->count < sampling->capacity) {
        if (sample_pair(trials, trial, sampling) < 0)
            return -1;
        if (shortens && sampling->count == short_at) {
            short_at += 1 + clock_secret() % (short_at + fewest);
            if (stop_short(trials, trial) < 0)
                return -1;
        }
        clocks_look(clocks);
        enough = is_enough(trials, sampling, clock_ms_since(start_ns) / budget_ms, &first);
        if (!enough && let_others_in(trials, trial, &turn, &start_ns) < 0)
            return -1;
    }
    return 0;
}

/* The dispatch overhead is the reference's: that of several calls is all until the first of its
 * kernels starts, what the reference itself does before that included. Where it is more than what
 * is left of the candidate's call, the least that is known of the speedup is what it has with a
 * part of it on its clock. */
static void doubt_overhead(const struct sampling *sampling, struct timed_case *timed)
{
    double call_ms = timed->candidate.median;
    double least = timed->reference.median / (call_ms + OWN_OVERHEAD * sampling->cost.median);
    if (sampling->drifts && timed->calls > 1 && sampling->cost.median > call_ms)
        timed->speedup.low = fmin(timed->speedup.low, least);
}

static void summarise_case(struct trials *trials, struct sampling *sampling,
                           const struct size_set *sizes, struct timed_case *timed)
{
    const double *reference;
    const double *candidate;
    struct reference_times *known = &trials->reference->times[trials->verdict->case_count];
    char text[256] = "";
    struct verdict *verdict = trials->verdict;
    if (sizes)
        problem_sizes_text(trials->job->problem, sizes, text, sizeof text);
    timed->sizes = arena_strdup(&verdict->arena, text);
    known->own_ms = sampling_own_ms(sampling);
    known->issue_ms = stats_median(sampling->issue, sampling->count);
    sampling_take_off(sampling, &reference, &candidate);
    stats_summary(reference, sampling->count, &timed->reference);
    stats_summary(candidate, sampling->count, &timed->candidate);
    stats_ratio(reference, candidate, sampling->count, &timed->speedup);
    stats_hold(&timed->speedup, timed->reference.median / timed->candidate.median);
    stats_widen(&timed->speedup, timing_settings(trials->job->settings)->run_to_run);
    doubt_overhead(sampling, timed);
    /* By its own clock: on a busy machine it waits for a processor, and works no longer. */
    timed->floor_ms = roofline_floor_ms(trials, sizes,
                                        fmin(known->own_ms, timed->reference.median));
    verdict->dispatch_overhead_us = sampling->cost.median * 1e3;
    verdict->case_count++;
}

/* GPU memory that one call takes: arguments of both children, their image, and torch outputs;
 * native outputs are among the arguments. */
static double call_bytes(const struct trials *trials, const struct trial *trial)
{
    bool image = trial_gpu_suits(trials, trial);
    double copies = image ? MEMORY_BUDGET_CHILDREN + 1 : MEMORY_BUDGET_CHILDREN;
    double bytes = (double)trial->layout.bytes * copies;
    if (trial_is_torch_on_gpu(trials))
        for (uint32_t i = 0; i < trials->state->answer.count; i++)
            bytes += (double)trials->state->answer.reference[i].bytes * MEMORY_BUDGET_CHILDREN;
    return bytes;
}

/* What a call of each takes, about. */
struct call_times {
    double reference_ms, candidate_ms;
    double candidate_most_ms; /* with its start */
};

/* How many calls one interval of the clock should take: on a GPU starting and waiting take longer
 * than many a kernel, whichever of the two is the faster. All of an interval together are one call
 * to the time limit. */
static uint32_t slots_for(const struct trials *trials, const struct trial *trial,
                          const struct call_times *times)
{
    uint32_t outputs = trial_choice_tensors(trials);
    outputs = outputs ? outputs : 1;
    uint32_t most = trials->job->problem->format == PROBLEM_TORCH ? WIRE_OUTPUTS / outputs
                                                                  : WIRE_SLOTS;
    if (!trials->gpu)
        return 1;
    double bytes = trial_gpu_suits(trials, trial) ? BATCH_BYTES : HOST_BYTES;
    bool torch = trials->job->problem->format == PROBLEM_TORCH;
    double budget_ms = (double)timing_settings(trials->job->settings)->gpu_budget_ms;
    double batch_ms = torch ? fmin(TORCH_BATCH_MS, budget_ms / BATCHES)
                            : fmin(BATCH_MS, budget_ms / NATIVE_BATCHES);
    double least_ms = fmin(times->reference_ms, times->candidate_ms);
    double wanted = ceil(batch_ms / fmax(least_ms, SAMPLING_RESOLUTION_MS));
    wanted = fmin(wanted, fmax(LONGEST_MS / times->reference_ms, 1));
    if (times->reference_ms < LONG_MS)
        wanted = fmax(wanted, 2);
    wanted = fmin(wanted, bytes / (double)trial->layout.bytes);
    wanted = fmin(wanted, memory_budget_calls(trials->gpu, call_bytes(trials, trial)));
    double slowest_ms = fmin(SLOWEST_MS, 0.5 * (double)trial->limit.ms);
    wanted = fmin(wanted, slowest_ms / fmax(times->candidate_most_ms, SAMPLING_RESOLUTION_MS));
    return (uint32_t)fmax(1, fmin(wanted, most));
}

/* Whether a child gave the same memory to the outputs of two slots. */
static bool outputs_overlap(const struct child *child)
{
    for (uint32_t i = 0; i < child->outputs.done.count; i++)
        for (uint32_t other = 0; other < i; other++) {
            const struct wire_output *a = &child->outputs.done.outputs[i];
            const struct wire_output *b = &child->outputs.done.outputs[other];
            if (a->bytes && b->bytes && a->address < b->address + b->bytes &&
                b->address < a->address + a->bytes)
                return true;
        }
    return false;
}

static struct call_times times_of(const struct trial *trial, const struct child_time *reference,
                                  const struct child_time *candidate)
{
    double overhead_ms = reference->ms - reference->inputs_ms - reference->own_ms;
    double candidate_ms = candidate->ms - candidate->inputs_ms - overhead_ms;
    return (struct call_times){.reference_ms = fmax(reference->own_ms / trial->slots,
                                                    SAMPLING_RESOLUTION_MS),
                               .candidate_ms = fmax(candidate_ms / trial->slots, CALL_MS),
                               .candidate_most_ms = candidate->ms / trial->slots};
}

static int map_slots(struct trials *trials, struct trial *trial)
{
    int64_t start_ns = clock_now_ns();
    if (trial->slots > 1 && trial_map(trials, trial, true) < 0)
        return -1;
    int64_t mapped_ns = clock_now_ns();
    trial->on_gpu = trial_gpu_begin(trials, trial);
    log_write(LOG_LEVEL_DEBUG, "timing", "%u slots mapped in %.1f ms, begun in %.1f", trial->slots,
              (double)(mapped_ns - start_ns) * 1e-6, clock_ms_since(mapped_ns));
    return 0;
}

/* The trial's slots stand ready, and what the first call on them takes is spent. One at a time,
 * where a child keeps its output and gives the same one to each call. */
static int make_slots(struct trials *trials, struct trial *trial, struct call_times *times)
{
    struct child_time reference;
    struct child_time candidate;
    if (map_slots(trials, trial) < 0 || trial_prepare(trials, trial) < 0 ||
        trial_reference(trials, trial, &reference) < 0 ||
        trial_candidate(trials, trial, &candidate) < 0)
        return -1;
    *times = times_of(trial, &reference, &candidate);
    if (trial->slots > 1 &&
        (outputs_overlap(&trials->reference->child) || outputs_overlap(trials->candidate))) {
        trial_gpu_end(trials);
        trial->slots = 1;
        if (trial_map(trials, trial, true) < 0)
            return -1;
        trial->on_gpu = trial_gpu_begin(trials, trial);
    } else if (trial_judge(trials, trial) != TRIAL_GOOD) {
        return -1;
    } else if (trial->slots == 1 || trial->slots > FEW) {
        return 0;
    }
    if (call_pair(trials, trial, true, &reference, &candidate) < 0)
        return -1;
    struct call_times again = times_of(trial, &reference, &candidate);
    times->reference_ms = fmin(times->reference_ms, again.reference_ms);
    times->candidate_ms = fmin(times->candidate_ms, again.candidate_ms);
    return 0;
}

/* As many slots as the calls want. One call alone says that roughly, because much of its time is
 * its start; several say it, of the reference for the next candidate, too. */
static int find_slots(struct trials *trials, struct trial *trial, double first_ms,
                      double candidate_ms)
{
    double *known_ms = &trials->reference->times[trials->verdict->case_count].call_ms;
    struct call_times times = {.reference_ms = *known_ms > 0 ? *known_ms
                                                             : fmax(first_ms - START_MS, CALL_MS),
                               .candidate_ms = INFINITY,
                               .candidate_most_ms = candidate_ms};
    trial->slots = slots_for(trials, trial, &times);
    int result = make_slots(trials, trial, &times);
    for (int i = 0; result == 0 && i < ENLARGED && trial->slots > 1; i++) {
        uint32_t slots = slots_for(trials, trial, &times);
        if (slots < FEWER * trial->slots)
            break;
        trial->slots = slots;
        result = make_slots(trials, trial, &times);
    }
    if (result == 0)
        *known_ms = times.reference_ms;
    return result;
}

/* One pair that is held against the oracle; then the slots of the trial. */
static int warm_up(struct trials *trials, struct trial *trial)
{
    struct trial once = *trial;
    struct child_time reference;
    struct child_time candidate;
    const struct timing_settings *timing = timing_settings(trials->job->settings);
    once.oracle = once.untouched = true;
    once.slots = trial->slots = 1;
    if (trial_map(trials, &once, true) < 0 ||
        call_pair(trials, &once, clock_secret() & 1, &reference, &candidate) < 0)
        return -1;
    trial->yield_after_ms = fmax(reference.ms, 1) * timing->stop_slower;
    if (!trials->gpu) /* there it gets other memory, without the inputs of a call */
        trial->warm_ups = warm_ups_after(trials, trial, &reference, &candidate);
    return trials->gpu ? find_slots(trials, trial, reference.own_ms, candidate.ms) : 0;
}

static int time_case(struct trials *trials, struct trial *trial, const struct size_set *sizes,
                     double budget_ms, struct clocks *clocks)
{
    struct verdict *verdict = trials->verdict;
    const struct timing_settings *timing = timing_settings(trials->job->settings);
    struct sampling sampling;
    struct timed_case *timed = &verdict->cases[verdict->case_count];
    const struct timing_facts facts = {.sampling = &sampling, .settings = timing, .timed = timed};
    sampling_init(&sampling, (size_t)timing->max_samples);
    sampling.drifts = trials->gpu != NULL;
    sampling.least = !trials->gpu && trials->job->problem->format == PROBLEM_TORCH;
    int result = warm_up(trials, trial);
    if (result == 0)
        result = sample_case(trials, trial, &sampling, budget_ms, clocks);
    if (result == 0) {
        timed->calls = trial->slots;
        summarise_case(trials, &sampling, sizes, timed);
        result = timing_trust_case(&facts, verdict);
        if (trials->job->problem->cases_from) { /* what answered there computed nothing */
            timed->reference = (struct summary){.median = NAN, .quartile1 = NAN, .quartile3 = NAN};
            timed->speedup = (struct interval){.value = NAN, .low = NAN, .high = NAN};
        }
    }
    trial->on_gpu = false;
    trial->yield_after_ms = 0;
    trial->warm_ups = 0;
    sampling_deinit(&sampling);
    return result;
}

static int time_all(struct trials *trials, struct clocks *clocks)
{
    double ignored;
    const struct problem *problem = trials->job->problem;
    const struct settings *settings = trials->job->settings;
    const struct timing_settings *timing = timing_settings(settings);
    struct trial trial = {.limit = time_limit_call(settings)};
    struct err err;
    double budget_ms = (double)(trials->gpu ? timing->gpu_budget_ms : timing->budget_ms);
    if (problem->format == PROBLEM_TORCH) {
        if (trial_layout(trials, 0, &trial.layout, &ignored, &err) < 0)
            return fault_set(trials->fault, FAULT_JUDGE, &err);
        return time_case(trials, &trial, NULL, budget_ms, clocks);
    }
    for (uint32_t i = 0; i < problem->time_count && i < VERDICT_CASES; i++) {
        if (problem_layout(problem, &problem->time[i], &trial.layout, &err) < 0)
            return fault_set(trials->fault, FAULT_JUDGE, &err);
        if (time_case(trials, &trial, &problem->time[i], budget_ms / problem->time_count, clocks) <
            0)
            return -1;
    }
    return 0;
}

int timing_stage(struct trials *trials)
{
    struct clocks clocks;
    trial_begin(trials, true);
    clocks_begin(&clocks, trials->unit, trials->verdict);
    int result = time_all(trials, &clocks);
    clocks_end(&clocks, trials->verdict);
    trial_end(trials);
    return result;
}
