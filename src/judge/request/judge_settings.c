#include "judge/request/judge_settings.h"

#include "base/setting.h"
#include "sandbox/output.h"

#include <inttypes.h>
#include <string.h>

#define DAY_MS 86400000
#define MOST_BYTES ((uint64_t)1 << 50)

#define SECTION cache
static const struct setting_row cache_rows[] = {
    SETTING_TEXT(directory, "auto",
                 "Directory of builds and measurements; auto: $XDG_CACHE_HOME/warpgym",
                 .absent = "auto"),
    SETTING_BYTES(max_bytes, "2GiB", 0, MOST_BYTES,
                  "Size at which the oldest cache entries are removed; 0: keep nothing"),
};
SETTING_SECTION(cache, cache_rows);

#undef SECTION
#define SECTION compile
static const struct setting_row compile_rows[] = {
    SETTING_DURATION(timeout_ms, "30s", 1, DAY_MS,
                     "Time limit of one compilation of a candidate; a problem's reference has ten "
                     "minutes, or this if it is more"),
    SETTING_BYTES(memory_bytes, "2GiB", 1 << 20, MOST_BYTES,
                  "Address space of each compiler process"),
    SETTING_DURATION(total_ms, "90s", 1, DAY_MS,
                     "Time of all builds that a candidate requests while it loads and runs "
                     "(extensions, Triton's): what comes later is refused"),
    SETTING_INT(max_builds, "256", 1, 100000, "Greatest number of such builds of a candidate"),
    SETTING_BYTES(output_bytes, "256MiB", 1, MOST_BYTES,
                  "Size of what such builds make for a candidate, all together"),
};
SETTING_SECTION(compile, compile_rows);

#undef SECTION
#define SECTION run
static const struct setting_row run_rows[] = {
    SETTING_DURATION(timeout_ms, "10s", 1, DAY_MS,
                     "Time limit of one call of a candidate, beside four times what the reference "
                     "takes"),
    SETTING_DURATION(first_call_timeout_ms, "0", 0, DAY_MS,
                     "Time limit of a Python candidate's first call, in which its kernels may tune "
                     "themselves; 0: six times run.timeout_ms"),
    SETTING_DURATION(
        load_timeout_ms, "60s", 1, DAY_MS,
        "Time limit of loading a candidate, its imports included, and of each step of a "
        "reference; its builds have compile.total_ms"),
    SETTING_BYTES(
        memory_bytes, "2GiB", 1 << 20, MOST_BYTES,
        "Memory of a candidate beyond its program, three times its arguments and weights, "
        "and on a CPU what its PyTorch reference has had: address space, and with a GPU "
        "the host memory that it holds"),
    SETTING_BYTES(scratch_bytes, "256MiB", 0, MOST_BYTES,
                  "Size of a candidate's private scratch directory"),
    SETTING_OPTIONAL_INT(threads, "auto", 1, 4096,
                         "Threads of a candidate and of its reference; auto: one for each usable "
                         "CPU"),
};
SETTING_SECTION(run, run_rows);

static int check_tolerance(const char *text, struct err *err)
{
    struct answer_bound ignored;
    return strcmp(text, "auto") == 0 ? 0 : bound_parse(text, &ignored, err);
}

#undef SECTION
#define SECTION check
static const struct setting_row check_rows[] = {
    SETTING_INT(trials, "3", 1, 1000, "Trials of a torch problem, each with fresh inputs"),
    SETTING_TEXT(tolerance, "auto",
                 "How far outputs may be from the reference's: strict, kernelbench, kernelgym or "
                 "{rtol: 1e-3, atol: 1e-4} (docs/design/tolerance.md); auto: as the problem states",
                 .absent = "auto", .check = check_tolerance),
    SETTING_BYTES(output_bytes, "4KiB", 0, SANDBOX_OUTPUT_BYTES,
                  "How much of what a candidate prints while it is loaded and checked its verdict "
                  "keeps"),
};
SETTING_SECTION(check, check_rows);

#undef SECTION
#define SECTION audit
static const struct setting_row audit_rows[] = {
    SETTING_DURATION(budget_ms, "3s", 0, DAY_MS,
                     "Time for the audit of a problem, once, when it is first judged "
                     "(docs/guide/problems.md); 0: no audit"),
    SETTING_WORD(gameable, "warn", WORDS_IN(AUDIT_ACTIONS),
                 "What becomes of candidates for a problem that can be gamed: warn: they are "
                 "judged, and their verdicts say so; refuse: they are `unsupported`"),
};
SETTING_SECTION(audit, audit_rows);

#undef SECTION
#define SECTION timing
static const struct setting_row timing_rows[] = {
    SETTING_FLOAT(target, "0.05", 0.0001, 1,
                  "Sampling stops when half the 95 % interval of the speedup is at most this part "
                  "of it"),
    SETTING_DURATION(
        budget_ms, "10ms", 1, 3600000,
        "Sampling time after which a wider interval is enough: after twice this time "
        "twice the target, and so on up to timing.widest; sampling stops after 30 times"),
    SETTING_FLOAT(gpu_target, "0.05", 0.0001, 1,
                  "timing.target on a GPU, where intervals hold many calls and scatter less"),
    SETTING_FLOAT(widest, "0.25", 0.0001, 1e9,
                  "Times are marked as not meaningful, and earn no reward, if half the interval is "
                  "wider than this part of the speedup"),
    SETTING_FLOAT(
        run_to_run, "0.02", 0, 1,
        "Standard deviation of the speedup (as a part of it) from one pair of processes to "
        "the next, of the same code: intervals include it, because no repetition within "
        "one evaluation shows it"),
    SETTING_DURATION(gpu_budget_ms, "30ms", 1, 3600000, "timing.budget_ms on a GPU"),
    SETTING_INT(min_samples, "6", 1, 100000, "Least number of timed pairs"),
    SETTING_INT(max_samples, "400", 1, 100000, "Greatest number of timed pairs"),
    SETTING_FLOAT(stop_slower, "10", 1, 1e9,
                  "Sampling stops early, after three pairs at the least, once the whole 95 % "
                  "interval says that the candidate is this many times slower than the reference "
                  "and timing.budget_ms is spent"),
};

static void timing_check(const struct settings *settings, struct setting_errors *errors)
{
    const struct timing_settings *timing = timing_settings(settings);
    if (timing->min_samples > timing->max_samples)
        settings_refuse(errors, settings, "timing.min_samples",
                        "timing.min_samples (%" PRId64 ") is above timing.max_samples (%" PRId64
                        ")",
                        timing->min_samples, timing->max_samples);
}
SETTING_SECTION(timing, timing_rows, .check = timing_check);

/* "all", or ordinals and beginnings of UUIDs, with commas between. */
static int check_devices(const char *devices, struct err *err)
{
    const char *word = devices;
    size_t count = 0;
    if (strcmp(devices, "all") == 0)
        return 0;
    for (size_t length; *(word += strspn(word, ", ")); word += length, count++) {
        length = strcspn(word, ", ");
        bool ordinal = strspn(word, "0123456789") >= length;
        bool uuid = length > 4 && (strncmp(word, "GPU-", 4) == 0 || strncmp(word, "MIG-", 4) == 0);
        if (!ordinal && !uuid)
            return err_set(err, ERR_INPUT,
                           "'%.*s' is neither an ordinal nor a UUID (GPU-…); write all, or 0,2",
                           (int)(length < 60 ? length : 60), word);
    }
    return count ? 0 : err_set(err, ERR_INPUT, "it names no GPU; write all, or 0,2");
}

#undef SECTION
#define SECTION gpu
static const struct setting_row gpu_rows[] = {
    SETTING_TEXT(devices, "all",
                 "GPUs that judge: all that are visible, or a list of ordinals and UUIDs (0,2)",
                 .check = check_devices),
    SETTING_DURATION(quarantine_ms, "1m", 1, DAY_MS,
                     "How long a GPU that failed gets no work; it is tried afterwards, and again "
                     "after twice this time"),
    SETTING_TEXT(driver, "auto", "Library of the NVIDIA driver; auto: libcuda.so.1",
                 .absent = "auto"),
    SETTING_INT(processes, "4", 0, 64,
                "Processes with a context on each GPU in the warm pool; each takes about 0.6 GB of "
                "the GPU's memory"),
    SETTING_INT(
        slots, "4", 1, 64,
        "Evaluations on a GPU at the same time, fewer where their memory would not suffice; the "
        "others wait with their builds done"),
    SETTING_INT(queues, "4", 1, 32,
                "Streams whose kernels run in parallel in a context "
                "(CUDA_DEVICE_MAX_CONNECTIONS); each takes 5 ms to make"),
    SETTING_BOOL(own_core, "true",
                 "Whether one core for each GPU is kept for timed calls, and does no other work; "
                 "only where there are four processors for each GPU"),
    SETTING_TEXT(nvml, "auto",
                 "NVIDIA's management library, for clocks and health; auto: libnvidia-ml.so.1",
                 .absent = "auto"),
    SETTING_TEXT(nvrtc, "auto",
                 "Library that compiles device-only kernels; auto: libnvrtc of a CUDA toolkit or "
                 "of Python's packages",
                 .absent = "auto"),
};
SETTING_SECTION(gpu, gpu_rows);

#undef SECTION
#define SECTION torch
static const struct setting_row torch_rows[] = {
    SETTING_WORD(device, "auto", WORDS_IN(TORCH_DEVICES),
                 "Device of torch problems; auto: a GPU if there is one"),
    SETTING_WORD(precision, "auto", WORDS_IN(TORCH_PRECISIONS),
                 "Type of a torch problem's floating inputs and weights; tf32: float32, whose "
                 "products may be TF32; auto: the problem's own"),
    SETTING_WORD(compile, "none", WORDS_IN(TORCH_COMPILE_MODES),
                 "Mode of torch.compile for references; none: eager"),
};
SETTING_SECTION(torch, torch_rows);

#undef SECTION
#define SECTION python
static const struct setting_row python_rows[] = {
    SETTING_TEXT(path, "auto",
                 "Python with PyTorch, for torch problems; auto: $WARPGYM_PYTHON, then "
                 ".venv/bin/python3, then the first python3 of $PATH that has PyTorch",
                 .absent = "auto"),
};
SETTING_SECTION(python, python_rows);

#undef SECTION
#define SECTION languages
static const struct setting_row languages_rows[] = {
    SETTING_TEXT(path, "",
                 "Directories of external languages (docs/guide/extending.md), separated by "
                 "colons"),
};
SETTING_SECTION(languages, languages_rows);
