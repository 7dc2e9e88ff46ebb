#include "judge/gpu/clocks.h"

#include "base/clock.h"

#define PAUSE_MS 50

void clocks_begin(struct clocks *clocks, const struct gpu_unit *unit, struct verdict *verdict)
{
    *clocks = (struct clocks){.unit = unit, .watch = &verdict->clocks};
    if (unit)
        gpu_watch_begin(clocks->watch, &unit->sensor);
    clocks->looked_ns = clock_now_ns();
}

void clocks_look(struct clocks *clocks)
{
    if (!clocks->unit || clock_ms_since(clocks->looked_ns) < PAUSE_MS)
        return;
    gpu_watch_look(clocks->watch);
    clocks->looked_ns = clock_now_ns();
}

void clocks_end(struct clocks *clocks, struct verdict *verdict)
{
    char reasons[160];
    if (!clocks->unit)
        return;
    gpu_watch_end(clocks->watch);
    clocks->watch->sensor = NULL; /* the verdict outlives it */
    gpu_watch_slowed(clocks->watch, reasons, sizeof reasons);
    if (reasons[0])
        verdict->timing_note = arena_printf(&verdict->arena,
                                            "%s%sthe GPU was slowed down while this was timed "
                                            "(%s): times are longer than they need be",
                                            verdict->timing_note ? verdict->timing_note : "",
                                            verdict->timing_note ? "; " : "", reasons);
}
