#include "judge/measure/trial_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void trial_end_candidate(struct trials *trials)
{
    struct verdict *verdict = trials->verdict;
    const struct sandboxed *process = &trials->candidate->process;
    if (process->layers)
        verdict->layers = process->layers;
    if (process->pid > 0)
        verdict->peak_memory_bytes = peak_memory(process);
    int64_t start_ns = clock_now_ns();
    child_close(trials->candidate);
    log_write(LOG_LEVEL_DEBUG, "judge", "the candidate's process ended in %.0f ms",
              clock_ms_since(start_ns));
}

bool trial_is_torch_on_gpu(const struct trials *trials)
{
    return trials->gpu && trials->job->problem->format == PROBLEM_TORCH;
}
