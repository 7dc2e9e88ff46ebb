/* tracing: libwarpgym_trace.so (judge/trace/trace_library.h) as a side calls it.
 *
 * The server loads it before it forks: behind the fence its file is out of reach, and the driver,
 * which is told of it by CUDA_INJECTION64_PATH, finds it loaded. Where it is not there, or CUPTI is
 * not, nothing is traced. Plain data.
 */
#ifndef WARPGYM_JUDGE_SIDE_TRACING_H
#define WARPGYM_JUDGE_SIDE_TRACING_H

struct tracing {
    int (*prepare)(const char *cupti_path);
    void (*snapshot)(void);
    int (*begin)(const char *cupti_path);
    int (*end)(int fd);
};

/* In the server. Leaves `tracing` empty where there is no such library. */
void tracing_load(struct tracing *tracing);
/* Before the candidate's code is loaded; what is there now are libraries. */
void tracing_snapshot(const struct tracing *tracing);
/* Around a pass, each with the GPU idle. Without a trace `fd` stays empty. */
void tracing_begin(const struct tracing *tracing);
void tracing_end(const struct tracing *tracing, int fd);

#endif
