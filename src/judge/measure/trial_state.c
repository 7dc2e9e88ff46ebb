#include "judge/measure/trial_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/memory_use.h"

void trial_state_free_gpu(struct trial_state *state)
{
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        gpu_memory_free(&state->answer.kept_on_gpu[i]);
    gpu_memory_free(&state->gpu.image);
    gpu_memory_free(&state->gpu.findings);
}

void trial_state_deinit(struct trial_state *state)
{
    trial_state_free_gpu(state);
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        mem_free(state->answer.kept[i]);
    mem_free(state->staging);
}

void trial_make_staging(struct trials *trials)
{
    uint64_t bytes = trials->reference->child.slots * trials->reference->child.layout.bytes;
    if (trials->state->staging_bytes >= bytes)
        return;
    mem_free(trials->state->staging);
    trials->state->staging = mem_alloc(bytes);
    trials->state->staging_bytes = bytes;
}

void trial_end_candidate(struct trials *trials)
{
    struct verdict *verdict = trials->verdict;
    const struct sandboxed *process = &trials->candidate->process;
    if (process->layers)
        verdict->layers = process->layers;
    if (process->pid > 0)
        verdict->peak_memory_bytes = memory_use_peak_bytes(process->pid);
    int64_t start_ns = clock_now_ns();
    child_close(trials->candidate);
    log_write(LOG_LEVEL_DEBUG, "judge", "the candidate's process ended in %.0f ms",
              clock_ms_since(start_ns));
}

bool trial_is_torch_on_gpu(const struct trials *trials)
{
    return trials->gpu && trials->job->problem->format == PROBLEM_TORCH;
}
