/* session: what a job thread keeps from one evaluation to the next, and an evaluation's end.
 * Declared in judge.h and context.h.
 */
#include "judge/context.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session *session_new(struct judge *judge)
{
    struct session *session = mem_alloc(sizeof *session);
    session->judge = judge;
    session->settings = judge->options.settings;
    session->cancelled = judge->options.cancelled;
    session->reference = REFERENCE_NONE;
    session->device = DEVICE_LOCK_NONE;
    session->place = judge->sessions++;
    return session;
}

void session_free_there(struct session *session)
{
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        gpu_memory_free(&session->answer.owned_there[i]);
    trial_gpu_end(session);
}

void session_free(struct session *session)
{
    if (!session)
        return;
    reference_close(&session->reference);
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        mem_free(session->answer.owned[i]);
    session_free_there(session);
    mem_free(session->staging);
    mem_free(session);
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
