#include "judge/measure/trial_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/memory_use.h"

#define KEPT_BYTES ((uint64_t)64 << 20) /* of one buffer, for the next evaluation */

static void free_gpu(struct trial_state *state)
{
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        gpu_memory_free(&state->answer.kept_on_gpu[i]);
    gpu_memory_free(&state->gpu.image);
    gpu_memory_free(&state->gpu.findings);
}

/* Buffers of this machine's memory with more bytes than that. */
static void free_larger(struct trial_state *state, uint64_t bytes)
{
    struct trial_answer *answer = &state->answer;
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        if (answer->kept_bytes[i] > bytes) {
            mem_free(answer->kept[i]);
            answer->kept[i] = NULL;
            answer->kept_bytes[i] = 0;
        }
    if (state->staging_bytes > bytes) {
        mem_free(state->staging);
        state->staging = NULL;
        state->staging_bytes = 0;
    }
}

void trial_state_rest(struct trial_state *state)
{
    free_gpu(state);
    free_larger(state, KEPT_BYTES);
}

void trial_state_deinit(struct trial_state *state)
{
    free_gpu(state);
    free_larger(state, 0);
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
