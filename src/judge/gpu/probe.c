#include "judge/gpu/probe.h"

#include "base/file.h"
#include "judge/judge_internal.h"
#include "judge/process/start.h"

#include <unistd.h>

/* Cached references in a context that is about to be given up. */
static void clear_shelf(struct judge *judge, const struct gpu *facts)
{
    for (int i = 0; i < judge->gpus.count; i++) {
        const struct gpu_unit *unit = &judge->gpus.units[i];
        if (&unit->facts == facts && unit->opened)
            (void)reference_cache_clear(&judge->references, gpu_unit_context(unit));
    }
}

int judge_probe_gpu(void *context, const struct gpu *facts, struct err *err)
{
    struct judge *judge = context;
    clear_shelf(judge, facts);
    struct wire_open open = {.type = WIRE_OPEN,
                             .role = WIRE_CANDIDATE,
                             .threads = 1,
                             .gpu = judge_wire_gpu(judge, facts)};
    struct child child = {0};
    int nothing = file_memory_from("nothing", "x", 1, err);
    if (nothing < 0)
        return nothing;
    struct child_start start = {.message = &open,
                                .kind = CHILD_NATIVE,
                                .descriptors = &nothing,
                                .descriptor_count = 1,
                                .timeout_ms = judge->options.settings->run_load_timeout_ms,
                                .cancelled = judge->options.cancelled};
    int result = judge_start_child(judge, NULL, SANDBOX_CUDA, 0, &child, &start, NULL, NULL, err);
    bool worked = result == ERR_INPUT && child.failed.failure == FAILED_LOAD;
    child_close(&child);
    close(nothing);
    return worked ? 0 : result < 0 ? ERR_IO : err_set(err, ERR_INTERNAL, "it loaded nothing");
}
