/* libwarpgym_trace.so: which kernels ran in a process, for how long, and whose they are.
 *
 * Loaded into a child, beside its candidate. The CUDA driver loads it when it starts, because the
 * environment says CUDA_INJECTION64_PATH, and calls InitializeInjection. From then on it sees where
 * machine code is loaded from, and nothing of launches. Between warpgym_trace_begin and
 * warpgym_trace_end CUPTI records each launch, at a cost of some microseconds each: a pass of its
 * own, never a timed one.
 *
 * A kernel's owner follows neither from its name nor from its launch, but from where its code came
 * from when it was loaded (origin.h).
 *
 *   child, before the driver starts   setenv CUDA_INJECTION64_PATH; warpgym_trace_prepare
 *   child, before candidate code      warpgym_trace_library_snapshot
 *   child, around a pass, idle        warpgym_trace_begin … warpgym_trace_end
 *
 * It lives where the candidate lives: what it writes (trace_stream.h) is evidence, not proof.
 * Threads: callbacks come from any; the calls below are made by one.
 */
#pragma once

enum warpgym_trace_result {
    WARPGYM_TRACE_OK = 0,
    WARPGYM_TRACE_NO_CUPTI = -1,     /* not there, or lacks a function */
    WARPGYM_TRACE_OLD_CUPTI = -2,    /* of a CUDA before 11.8 */
    WARPGYM_TRACE_REFUSED = -3,      /* CUPTI is there, and refuses: another tool uses it? */
    WARPGYM_TRACE_NOT_INJECTED = -4, /* the driver did not load this library */
    WARPGYM_TRACE_NOT_BEGUN = -5,
    WARPGYM_TRACE_NOT_WRITTEN = -6,
};

/* Loads CUPTI: the one that the process has already, else `cupti_path`; NULL: the system's. To be
 * called before the driver starts; in a server it saves each of its children the loading. */
int warpgym_trace_prepare(const char *cupti_path);
/* What is mapped now, and files as old, are libraries; the working directory's files are not. */
void warpgym_trace_library_snapshot(void);
/* With the device idle. `cupti_path` as above; NULL after warpgym_trace_prepare. */
int warpgym_trace_begin(const char *cupti_path);
/* With the device idle. Writes the stream to `fd` from its beginning. */
int warpgym_trace_end(int fd);
/* CUPTI's own number of the last refusal; 0. */
int warpgym_trace_refusal(void);

/* The driver's (CUDA_INJECTION64_PATH). */
int InitializeInjection(void);
