#include "judge/measure/timing.h"

#include "base/clock.h"
#include "base/log.h"
#include "judge/gpu/clocks.h"
#include "judge/gpu/memory_budget.h"
#include "judge/measure/roofline.h"
#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_inputs.h"
#include "judge/request/judge_settings.h"

#include <math.h>

#define RESOLUTION_MS 1e-3 /* scatter of the dispatch overhead: no time is below it */
#define BUDGETS_MAX 30     /* that may be spent on an interval that stays wide */
#define BATCH_MS 1.5       /* of calls between two readings of the clock, on a GPU, at most */
#define TORCH_BATCH_MS 4.0 /* PyTorch takes up to 200 µs until the first kernel starts */
#define BATCHES 15.0       /* that the budget should have room for; of native calls: */
#define NATIVE_BATCHES 40.0
#define LONG_MS 12.0     /* of a call that may be alone: its start is the reference's, too */
#define START_MS 0.015   /* that the first call of an interval waits until it starts, */
#define CALL_MS 0.004    /* and what any takes at the least */
#define FEWER 1.5        /* calls than could be are too few */
#define HOST_BYTES 64e6  /* of their arguments, where those pass through the host */
#define BATCH_BYTES 4e9  /* and where they don't */
#define BUSY_US 25.0     /* scatter that says: something else was running */
#define AHEAD_MS 0.02    /* of processor time before a call: more than a thread takes to stop */
#define SLOWER_SAMPLES 3 /* with which an interval may say that a candidate is far slower */

/* Raw times in ms, one of each kind a pair. */
struct sampling {
    double *reference, *candidate;
    double *overhead; /* of the reference's call */
    double *around;   /* how long bringing its inputs and taking samples took */
    double *candidate_around;
    double *scratch;       /* 2 * capacity */
    bool *candidate_first; /* the pair's order */
    size_t count, capacity;
    size_t ahead; /* pairs before which the candidate ran, by more than AHEAD_MS */
    double most_ahead_ms;
    bool drifts;           /* the overhead: on a GPU */
    bool least;            /* only as much is taken off as every call takes: PyTorch on the CPU */
    bool slower;           /* sampling ended early: timing.stop_slower */
    struct summary cost;   /* of `overhead` */
    struct clocks *clocks; /* looked at between pairs */
};

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

/* Of two pairs that follow each other the first order is drawn, the second is the other one. */
static int sample_pair(struct trials *trials, const struct trial *trial, struct sampling *sampling)
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
    sampling->around[at] = (reference.inputs_ms + reference.sample_ms) / calls;
    sampling->candidate_around[at] = (candidate.inputs_ms + candidate.sample_ms) / calls;
    sampling->ahead += candidate.ahead_ms > AHEAD_MS;
    sampling->most_ahead_ms = fmax(sampling->most_ahead_ms, candidate.ahead_ms);
    log_write(LOG_LEVEL_DEBUG, "timing",
              "%u calls, inputs+rest/own/samples ms: reference %.4f+%.4f/%.4f/%.4f, candidate "
              "%.4f+%.4f/%.4f/%.4f%s",
              trial->slots, reference.inputs_ms, reference.ms - reference.inputs_ms,
              reference.own_ms, reference.sample_ms, candidate.inputs_ms,
              candidate.ms - candidate.inputs_ms, candidate.own_ms, candidate.sample_ms,
              candidate_first ? ", first" : "");
    sampling->candidate_first[at] = candidate_first;
    sampling->count++;
    return 0;
}

static double of_three(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* The overhead near pair i. On a GPU it drifts with other load, so of this pair and its
 * neighbours (the other two of its three at either end) the middle one. */
static double overhead_near(const struct sampling *sampling, size_t i)
{
    const double *all = sampling->overhead;
    size_t count = sampling->count;
    if (sampling->least)
        return sampling->cost.min;
    if (count < 3 || !sampling->drifts)
        return sampling->cost.median;
    size_t first = i == 0 ? 0 : i - 1;
    first = first + 3 > count ? count - 3 : first;
    return of_three(all[first], all[first + 1], all[first + 2]);
}

/* Times without the overhead and what the order does to them, into scratch: reference first,
 * candidate behind it. */
static void take_off_overhead(struct sampling *sampling, const double **reference,
                              const double **candidate)
{
    double *into = sampling->scratch;
    struct summary around;
    stats_summary(sampling->overhead, sampling->count, &sampling->cost);
    stats_summary(sampling->around, sampling->count, &around);
    double expected_ms = 2 * around.quartile3 - around.quartile1; /* anything above is its own */
    for (size_t i = 0; i < sampling->count; i++) {
        double late_ms = fmax(sampling->candidate_around[i] - expected_ms, 0);
        double cost_ms = overhead_near(sampling, i);
        into[i] = fmax(sampling->reference[i] - cost_ms, RESOLUTION_MS);
        into[sampling->capacity + i] = fmax(sampling->candidate[i] + late_ms - cost_ms,
                                            RESOLUTION_MS);
    }
    stats_level(into, sampling->candidate_first, sampling->count);
    stats_level(into + sampling->capacity, sampling->candidate_first, sampling->count);
    *reference = into;
    *candidate = into + sampling->capacity;
}

/* How much more than the least overhead is taken off a call: on a busy machine the reference has to
 * wait for a processor, and a candidate that got one at once would have its work taken off. */
static double waited_ms(const struct sampling *sampling)
{
    return sampling->least || sampling->drifts ? 0 : sampling->cost.median - sampling->cost.min;
}

/* Whether the candidate's calls had an overhead like the reference's: no quarter of them is shorter
 * than that alone, and a wait that some did not have is little beside what is left of either's
 * (take_off_overhead). On a machine that does something else meanwhile it may be otherwise. */
static bool overhead_is_plausible(const struct sampling *sampling)
{
    struct summary candidate;
    stats_summary(sampling->candidate, sampling->count, &candidate);
    double left_ms = fmin(stats_median(sampling->scratch, sampling->count),
                          stats_median(sampling->scratch + sampling->capacity, sampling->count));
    return candidate.quartile1 >= sampling->cost.quartile1 - RESOLUTION_MS &&
           waited_ms(sampling) <= fmax(left_ms / 2, BUSY_US * 1e-3);
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

/* Tight for the time that it took, and of use: a machine that is too busy now may not be in a
 * moment. */
static bool is_enough(const struct trials *trials, struct sampling *sampling, double budgets)
{
    const struct timing_settings *timing = timing_settings(trials->job->settings);
    double target = trials->gpu ? timing->gpu_target : timing->target;
    struct interval speedup;
    const double *reference;
    const double *candidate;
    bool fewest = sampling->count >= (size_t)timing->min_samples;
    if (!fewest && sampling->count < SLOWER_SAMPLES)
        return false;
    take_off_overhead(sampling, &reference, &candidate);
    stats_ratio(reference, candidate, sampling->count, &speedup);
    bool tight = stats_tight(&speedup, fmin(target * fmax(budgets, 1), timing->widest));
    if (fewest && ((tight && overhead_is_plausible(sampling)) || budgets > BUDGETS_MAX))
        return true;
    sampling->slower = budgets > 1 && speedup.high * timing->stop_slower < 1;
    return sampling->slower;
}

/* Between two pairs the device may be another session's for a while; what that left in caches, and
 * how fast the clocks go then, is on no clock of ours. *start_ns moves by the time it takes. */
static int let_others_in(struct trials *trials, const struct trial *trial, int64_t *start_ns)
{
    struct err err;
    struct child_time ignored;
    int64_t paused_ns = clock_now_ns();
    if (!device_lease_over(trials->lease))
        return 0;
    if (trial->on_gpu && trial_gpu_idle(trials) < 0)
        return -1;
    if (device_lease_pass(trials->lease, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    int result = call_pair(trials, trial, true, &ignored, &ignored);
    *start_ns += clock_now_ns() - paused_ns;
    return result;
}

/* It is random before which pair intervals end early: once among the fewest that are taken, and
 * then less and less often. */
static int sample_case(struct trials *trials, const struct trial *trial, struct sampling *sampling,
                       double budget_ms)
{
    size_t fewest = (size_t)timing_settings(trials->job->settings)->min_samples;
    bool shortens = trials->job->problem->format == PROBLEM_NATIVE && trial->slots > 1;
    size_t short_at = 1 + clock_secret() % fewest;
    int64_t start_ns = clock_now_ns();
    bool enough = false;
    while (!enough && sampling->count < sampling->capacity) {
        if (sample_pair(trials, trial, sampling) < 0)
            return -1;
        if (shortens && sampling->count == short_at) {
            short_at += 1 + clock_secret() % (short_at + fewest);
            if (stop_short(trials, trial) < 0)
                return -1;
        }
        clocks_look(sampling->clocks);
        enough = is_enough(trials, sampling, clock_ms_since(start_ns) / budget_ms);
        if (!enough && let_others_in(trials, trial, &start_ns) < 0)
            return -1;
    }
    return 0;
}

/* A figure that says little is none. All the time that there was has been spent on it. */
static void weigh_precision(struct trials *trials, const struct sampling *sampling,
                            const struct timed_case *timed)
{
    struct verdict *verdict = trials->verdict;
    double widest = timing_settings(trials->job->settings)->widest;
    double scatter_ms = sampling->cost.quartile3 - sampling->cost.quartile1;
    if (scatter_ms > timed->candidate.median) {
        verdict->timing_meaningful = false;
        verdict->timing_note = arena_printf(
            &verdict->arena,
            "the dispatch overhead scatters by %.3g us, more than the %.3g us that a call takes",
            scatter_ms * 1e3, timed->candidate.median * 1e3);
    } else if (!stats_tight(&timed->speedup, widest)) {
        verdict->timing_meaningful = false;
        verdict->timing_note = arena_printf(&verdict->arena,
                                            "after %zu pairs its speedup is somewhere between %.3g "
                                            "and %.3g: wider than timing.widest allows",
                                            sampling->count, timed->speedup.low,
                                            timed->speedup.high);
    }
}

static void say_that_it_ended(struct trials *trials, const struct sampling *sampling)
{
    struct verdict *verdict = trials->verdict;
    const char *other = verdict->timing_note;
    verdict->timing_note = arena_printf(
        &verdict->arena,
        "sampling ended after %zu pairs: all of the interval says that it is more than %g times "
        "slower than the reference (timing.stop_slower)%s%s",
        sampling->count, timing_settings(trials->job->settings)->stop_slower, other ? "; " : "",
        other ? other : "");
}

/* The benefit of every doubt: the shortest overhead is taken off here, and nothing if
 * even that took longer than a whole call, because then something else was running. */
static int judge_case(struct trials *trials, const struct sampling *sampling,
                      const struct timed_case *timed)
{
    struct verdict *verdict = trials->verdict;
    struct summary raw;
    stats_summary(sampling->candidate, sampling->count, &raw);
    double cost_ms = sampling->cost.min < raw.min ? sampling->cost.min : 0;
    double at_most_ms = raw.median - cost_ms + RESOLUTION_MS;
    if (!roofline_allows(timed->floor_ms, at_most_ms, verdict))
        return -1;
    if (sampling->ahead * 2 > sampling->count) { /* a busy machine does that in one of hundreds */
        verdict_violation(verdict, "H27",
                          "something continued it while it was stopped: it ran before %zu of %zu "
                          "timed calls, for up to %.3f ms",
                          sampling->ahead, sampling->count, sampling->most_ahead_ms);
        return -1;
    }
    if (!overhead_is_plausible(sampling)) {
        verdict->timing_meaningful = false;
        verdict->timing_note =
            "the machine was too busy to time it: the dispatch overhead took too long, or varied";
        return 0;
    }
    double scatter_us = (sampling->cost.quartile3 - sampling->cost.quartile1) * 1e3;
    if (scatter_us > BUSY_US && scatter_us > timed->candidate.median * 1e3 * 0.02)
        verdict->timing_note = "the machine was busy while this was timed: expect it to scatter";
    if (sampling->slower) /* however wide: it is far slower */
        say_that_it_ended(trials, sampling);
    else
        weigh_precision(trials, sampling, timed);
    return 0;
}

static void summarise_case(struct trials *trials, struct sampling *sampling,
                           const struct size_set *sizes, struct timed_case *timed)
{
    const double *reference;
    const double *candidate;
    char text[256] = "";
    struct verdict *verdict = trials->verdict;
    if (sizes)
        problem_sizes_text(trials->job->problem, sizes, text, sizeof text);
    timed->sizes = arena_strdup(&verdict->arena, text);
    take_off_overhead(sampling, &reference, &candidate);
    stats_summary(reference, sampling->count, &timed->reference);
    stats_summary(candidate, sampling->count, &timed->candidate);
    stats_ratio(reference, candidate, sampling->count, &timed->speedup);
    stats_hold(&timed->speedup, timed->reference.median / timed->candidate.median);
    stats_widen(&timed->speedup, timing_settings(trials->job->settings)->run_to_run);
    timed->floor_ms = roofline_floor_ms(trials, sizes);
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

/* How many calls one interval of the clock should take: on a GPU starting and waiting take longer
 * than many a kernel. */
static uint32_t slots_for(const struct trials *trials, const struct trial *trial, double call_ms)
{
    uint32_t outputs = trials->state->answer.count ? trials->state->answer.count : 1;
    uint32_t most = trials->job->problem->format == PROBLEM_TORCH ? WIRE_OUTPUTS / outputs
                                                                  : WIRE_SLOTS;
    if (!trials->gpu)
        return 1;
    double bytes = trial_gpu_suits(trials, trial) ? BATCH_BYTES : HOST_BYTES;
    bool torch = trials->job->problem->format == PROBLEM_TORCH;
    double budget_ms = (double)timing_settings(trials->job->settings)->gpu_budget_ms;
    double batch_ms = torch ? fmin(TORCH_BATCH_MS, budget_ms / BATCHES)
                            : fmin(BATCH_MS, budget_ms / NATIVE_BATCHES);
    double wanted = ceil(batch_ms / fmax(call_ms, RESOLUTION_MS));
    if (call_ms < LONG_MS)
        wanted = fmax(wanted, 2);
    wanted = fmin(wanted, bytes / (double)trial->layout.bytes);
    wanted = fmin(wanted, memory_budget_calls(trials->gpu, call_bytes(trials, trial)));
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

/* The trial's slots stand ready, and what the first call on them takes is spent. One at a time,
 * where a child keeps its output and gives the same one to each call. */
static int make_slots(struct trials *trials, struct trial *trial, double *call_ms)
{
    struct child_time reference;
    struct child_time ignored;
    int64_t start_ns = clock_now_ns();
    if (trial->slots > 1 && trial_map(trials, trial, true) < 0)
        return -1;
    int64_t mapped_ns = clock_now_ns();
    trial->on_gpu = trial_gpu_begin(trials, trial);
    log_write(LOG_LEVEL_DEBUG, "timing", "%u slots mapped in %.1f ms, begun in %.1f", trial->slots,
              (double)(mapped_ns - start_ns) * 1e-6, clock_ms_since(mapped_ns));
    if (trial_prepare(trials, trial) < 0 || trial_reference(trials, trial, &reference) < 0 ||
        trial_candidate(trials, trial, &ignored) < 0)
        return -1;
    *call_ms = reference.own_ms / trial->slots;
    if (trial->slots == 1 ||
        (!outputs_overlap(&trials->reference->child) && !outputs_overlap(trials->candidate)))
        return trial_judge(trials, trial) == TRIAL_GOOD ? 0 : -1;
    trial_gpu_end(trials);
    trial->slots = 1;
    if (trial_map(trials, trial, true) < 0)
        return -1;
    trial->on_gpu = trial_gpu_begin(trials, trial);
    return call_pair(trials, trial, true, &ignored, &ignored);
}

/* As many slots as the reference's calls want. One call alone says that roughly, because much of
 * its time is its start; several say it, and it is kept for the next candidate. */
static int find_slots(struct trials *trials, struct trial *trial, double first_ms)
{
    double *known_ms = &trials->reference->times[trials->verdict->case_count].call_ms;
    double call_ms = *known_ms > 0 ? *known_ms : fmax(first_ms - START_MS, CALL_MS);
    trial->slots = slots_for(trials, trial, call_ms);
    if (make_slots(trials, trial, &call_ms) < 0)
        return -1;
    uint32_t slots = slots_for(trials, trial, call_ms);
    bool known = *known_ms > 0;
    *known_ms = call_ms;
    if (known || trial->slots == 1 || slots < FEWER * trial->slots)
        return 0;
    trial->slots = slots;
    return make_slots(trials, trial, &call_ms);
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
    return trials->gpu ? find_slots(trials, trial, reference.own_ms) : 0;
}

static int time_case(struct trials *trials, struct trial *trial, const struct size_set *sizes,
                     double budget_ms, struct clocks *clocks)
{
    struct verdict *verdict = trials->verdict;
    size_t capacity = (size_t)timing_settings(trials->job->settings)->max_samples;
    double *memory = mem_alloc(capacity * (7 * sizeof *memory + sizeof(bool)));
    struct sampling sampling = {.reference = memory,
                                .candidate = memory + capacity,
                                .overhead = memory + 2 * capacity,
                                .around = memory + 3 * capacity,
                                .candidate_around = memory + 4 * capacity,
                                .scratch = memory + 5 * capacity,
                                .candidate_first = (bool *)(memory + 7 * capacity),
                                .capacity = capacity,
                                .drifts = trials->gpu != NULL,
                                .least = !trials->gpu &&
                                         trials->job->problem->format == PROBLEM_TORCH,
                                .clocks = clocks};
    struct timed_case *timed = &verdict->cases[verdict->case_count];
    int result = warm_up(trials, trial);
    if (result == 0)
        result = sample_case(trials, trial, &sampling, budget_ms);
    if (result == 0) {
        timed->calls = trial->slots;
        summarise_case(trials, &sampling, sizes, timed);
        result = judge_case(trials, &sampling, timed);
        if (trials->job->problem->cases_from) { /* what answered there computed nothing */
            timed->reference = (struct summary){.median = NAN, .quartile1 = NAN, .quartile3 = NAN};
            timed->speedup = (struct interval){.value = NAN, .low = NAN, .high = NAN};
        }
    }
    trial->on_gpu = false;
    trial->yield_after_ms = 0;
    mem_free(memory);
    return result;
}

static int time_all(struct trials *trials, struct clocks *clocks)
{
    double ignored;
    const struct problem *problem = trials->job->problem;
    const struct settings *settings = trials->job->settings;
    const struct timing_settings *timing = timing_settings(settings);
    struct trial trial = {.timeout_ms = run_settings(settings)->timeout_ms};
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
    trial_begin(trials);
    clocks_begin(&clocks, trials->unit, trials->verdict);
    int result = time_all(trials, &clocks);
    clocks_end(&clocks, trials->verdict);
    trial_end(trials);
    return result;
}
