#include "judge/child/tracing.h"

#include "base/array.h"
#include "device/library.h"
#include "judge/trace/trace_library.h"

#include <stddef.h>
#include <stdlib.h>

static const struct library_function functions[] = {
    {"warpgym_trace_library_snapshot", offsetof(struct tracing, snapshot), false},
    {"warpgym_trace_prepare", offsetof(struct tracing, prepare), false},
    {"warpgym_trace_begin", offsetof(struct tracing, begin), false},
    {"warpgym_trace_end", offsetof(struct tracing, end), false},
    {"warpgym_trace_refusal", offsetof(struct tracing, refusal), false},
};

static int explain_failure(const struct tracing *tracing, int result, struct err *err)
{
    static const char *const reasons[] = {
        [-WARPGYM_TRACE_NO_CUPTI] =
            "there is no CUPTI on this machine, or one that lacks functions",
        [-WARPGYM_TRACE_OLD_CUPTI] = "CUPTI is older than CUDA 11.8's",
        [-WARPGYM_TRACE_REFUSED] = "CUPTI refuses: another tool may be using it",
        [-WARPGYM_TRACE_NOT_INJECTED] = "the driver did not load the library that traces",
        [-WARPGYM_TRACE_NOT_BEGUN] = "no pass was begun",
        [-WARPGYM_TRACE_NOT_WRITTEN] = "the trace could not be written",
    };
    if (result == WARPGYM_TRACE_OK)
        return 0;
    size_t index = (size_t)-result;
    return err_set(err, ERR_UNSUPPORTED, "launches cannot be traced: %s (CUPTI's error %d)",
                   index < COUNT(reasons) ? reasons[index] : "unknown", tracing->refusal());
}

void tracing_load(struct tracing *tracing, const char *library, const char *cupti)
{
    const char *const names[] = {library, NULL};
    *tracing = (struct tracing){.library = NULL};
    int result = library_open(&tracing->library, names, functions, COUNT(functions), tracing,
                              &tracing->problem);
    if (result == 0)
        result = explain_failure(tracing, tracing->prepare(cupti), &tracing->problem);
    if (result == 0)
        setenv("CUDA_INJECTION64_PATH", library, 1);
    else
        library_close(&tracing->library);
}

void tracing_snapshot(const struct tracing *tracing)
{
    if (tracing->library)
        tracing->snapshot();
}

int tracing_begin(const struct tracing *tracing, struct err *err)
{
    if (!tracing->library) {
        *err = tracing->problem;
        return err->code;
    }
    return explain_failure(tracing, tracing->begin(NULL), err);
}

int tracing_end(const struct tracing *tracing, int fd, struct err *err)
{
    return explain_failure(tracing, tracing->end(fd), err);
}
