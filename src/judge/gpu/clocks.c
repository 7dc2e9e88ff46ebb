/* clocks: what a GPU's clocks did while it was timed. Declared in context.h. */
#include "judge/context.h"

#include "base/clock.h"

void clocks_begin(struct session *session)
{
    if (session->unit)
        gpu_watch_begin(&session->verdict->clocks, &session->unit->sensor);
    session->clocks_ns = clock_now_ns();
}

void clocks_look(struct session *session)
{
    if (!session->unit || clock_ms_since(session->clocks_ns) < CLOCKS_PAUSE_MS)
        return;
    gpu_watch_look(&session->verdict->clocks);
    session->clocks_ns = clock_now_ns();
}

void clocks_end(struct session *session)
{
    struct verdict *verdict = session->verdict;
    char reasons[160];
    if (!session->unit)
        return;
    gpu_watch_end(&verdict->clocks);
    verdict->clocks.sensor = NULL; /* the verdict outlives it */
    gpu_watch_slowed(&verdict->clocks, reasons, sizeof reasons);
    if (reasons[0])
        verdict->timing_note = arena_printf(&verdict->arena,
                                            "%s%sthe GPU was slowed down while this was timed "
                                            "(%s): times are longer than they need be",
                                            verdict->timing_note ? verdict->timing_note : "",
                                            verdict->timing_note ? "; " : "", reasons);
}
