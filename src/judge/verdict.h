/* verdict: the record of one evaluation, and its JSON form (docs/reference/verdict.md).
 *
 * A plain struct that the judge fills as it goes. verdict_json turns it into one object, the same
 * for the command line, the API, trajectories and rewards ("schema": 1); verdict_read is the way
 * back. The table of both is verdict_fields.h. Strings are the verdict's own (its arena).
 * verdict_deinit frees all. Threads: a verdict belongs to one thread at a time.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "device/gpu_state.h"
#include "judge/numeric/stats.h"
#include "problem/layout.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define VERDICT_SCHEMA 1 /* the number of the form */
#define VERDICT_FINDINGS 16
#define VERDICT_CASES 16
#define VERDICT_KERNELS 16
#define VERDICT_WORDS 64                     /* of a list of texts that is read */
#define VERDICT_TEXT_BYTES ((size_t)1 << 20) /* of a text that is read */

/* X(symbol, name, meaning) */
#define VERDICT_STATUSES(X)                                                                        \
    X(STATUS_PASSED, "passed", "correct in every trial and every timed call")                      \
    X(STATUS_WRONG, "wrong", "ran, and its output differs from the reference's")                   \
    X(STATUS_COMPILE_ERROR, "compile_error",                                                       \
      "the compiler refused it (a Python syntax error, too), or it is not source text")            \
    X(STATUS_LOAD_ERROR, "load_error", "cannot be loaded, or has no entry point")                  \
    X(STATUS_RUNTIME_ERROR, "runtime_error", "crashed, exited or raised")                          \
    X(STATUS_TIMEOUT, "timeout", "compiling, loading or one call took too long")                   \
    X(STATUS_OUT_OF_MEMORY, "out_of_memory", "exceeded its memory limit")                          \
    X(STATUS_VIOLATION, "violation", "did something that no honest kernel does")                   \
    X(STATUS_UNSUPPORTED, "unsupported",                                                           \
      "this machine cannot run it, it is in another format than the problem, or its file has an "  \
      "unknown ending")                                                                            \
    X(STATUS_INFRASTRUCTURE_ERROR, "infrastructure_error",                                         \
      "the judge, the problem's reference or the GPU failed; not the candidate")                   \
    X(STATUS_CANCELLED, "cancelled", "the client cancelled it")

struct problem;
struct candidate;
struct language;

enum verdict_status {
#define X(symbol, name, meaning) symbol,
    VERDICT_STATUSES(X)
#undef X
        STATUS_COUNT
};

struct finding {
    const char *code;     /* of the catalogue: "H21" */
    const char *evidence; /* one sentence */
};

struct mismatch {
    bool any;
    const char *output; /* name or number of the tensor */
    uint64_t index;
    double got, expected;
    const char *looks; /* what the error of all of the output looks like: error_look.h; or NULL */
};

struct timed_case {
    const char *sizes;                   /* "rows=64 cols=1000"; torch: "" */
    struct summary candidate, reference; /* ms */
    struct interval speedup;
    double floor_ms; /* roofline: no honest call is faster */
    uint32_t calls;  /* that one interval of the clock took */
};

struct kernel_share {
    const char *name;
    uint64_t launches;
    double time_us;
    bool own;
    /* of a launch trace, shape and resources of the longest launch; source NULL: there was none */
    const char *source; /* file that the code came from, or its loader; "": not known */
    bool copy;          /* a copy or a memset, no kernel */
    uint32_t streams;
    uint32_t registers, local_bytes; /* of a thread */
    uint64_t shared_bytes;           /* of a block */
    uint32_t grid[3], block[3];
    double occupancy;  /* NaN: not known */
    const char *limit; /* what keeps it from more: "registers"; "" */
};

/* Of all that the GPU did in a traced pass: kernels, copies, memsets. */
struct launch_totals {
    uint32_t calls;                /* of the candidate; 0: nothing was traced */
    uint32_t kernels, own_kernels; /* of different names */
    uint32_t streams;
    uint64_t launches, own_launches;
    double time_us, own_time_us; /* on the GPU, summed up */
    double busy_us;              /* while at least one of them ran */
    double call_us;              /* a call when nothing is traced; NaN */
    double call_bytes;           /* that a call must move; 0: not known */
    double peak_bytes_per_s;     /* of the GPU's memory; 0: not known */
    int multiprocessors;         /* 0: not known */
    const char *text;            /* of a verdict that was read: all of it in words; NULL */
};

/* X(symbol, name, what took the time) */
#define VERDICT_STAGES(X)                                                                          \
    X(STAGE_QUEUE, "queue", "waiting: in a service's queue, for a GPU slot, for the device")       \
    X(STAGE_COMPILE, "compile", "compiling")                                                       \
    X(STAGE_LOAD, "load", "loading")                                                               \
    X(STAGE_CHECK, "check", "trials")                                                              \
    X(STAGE_TIME, "time", "timing")                                                                \
    X(STAGE_PROFILE, "profile", "the launch trace")                                                \
    X(STAGE_OTHER, "other", "the time between them, mainly the end of processes")

enum verdict_stage {
#define X(symbol, name, meaning) symbol,
    VERDICT_STAGES(X)
#undef X
        STAGE_COUNT
};

/* X(symbol, name, meaning); AUDIT_NONE is none of them */
#define AUDIT_OUTCOMES(X)                                                                          \
    X(AUDIT_SOUND, "sound", "every attempt to pass without the work was refused")                  \
    X(AUDIT_GAMEABLE, "gameable", "an attempt passes: so would a candidate that makes it")         \
    X(AUDIT_UNKNOWN, "unknown", "the audit was not made, or not to its end: see `reason`")

enum audit_outcome {
    AUDIT_NONE,
#define X(symbol, name, meaning) symbol,
    AUDIT_OUTCOMES(X)
#undef X
};

#define VERDICT_ATTEMPTS 8

struct verdict_attempt {
    const char *code; /* of the catalogue */
    const char *name;
    double gain; /* NaN: not known */
};

/* What is known of the problem itself (problem_audit.h), whatever the candidate is. */
struct verdict_audit {
    enum audit_outcome outcome; /* AUDIT_NONE: the verdict does not say */
    const char *reason;         /* NULL */
    double took_ms;             /* once, when it was made */
    uint32_t count;
    struct verdict_attempt attempts[VERDICT_ATTEMPTS]; /* that pass */
};

#define VERDICT_NOT_TIMED "not asked for" /* a timing_note */
#define VERDICT_KILLED "killed"           /* an error class: the candidate's process, by SIGKILL */

struct verdict {
    struct arena arena;
    const char *id;
    const char *problem_id, *problem_format, *problem_hash;
    struct verdict_audit audit;
    const char *candidate_path, *candidate_language;
    char candidate_hash[HASH_HEX_BYTES];
    const char *device;
    uint32_t layers; /* of the sandbox, that held; 0: the candidate had no process */
    enum verdict_status status;
    bool compiled, correct;
    /* correctness */
    uint32_t trials, trials_passed;
    double max_absolute, max_relative;
    struct mismatch mismatch;
    /* of a simple problem; case_total 0: another, or it did not come to them */
    const char *cases_from; /* NULL: another format */
    uint32_t case_total, cases_compared;
    const char *failed_case; /* NULL */
    /* timing */
    uint32_t case_count;
    struct timed_case cases[VERDICT_CASES];
    const char *timing_note; /* why there is none, or why it means nothing; NULL */
    bool timing_meaningful;
    struct gpu_watch clocks;     /* of the GPU while it was timed */
    double dispatch_overhead_us; /* calibrated cost of one call, taken off */
    /* profile */
    uint32_t kernel_count;
    struct kernel_share kernels[VERDICT_KERNELS];
    struct launch_totals launched;
    double own_time_fraction, own_launch_fraction; /* NaN: not known */
    uint64_t peak_memory_bytes;
    /* integrity */
    uint32_t violation_count, warning_count;
    struct finding violations[VERDICT_FINDINGS], warnings[VERDICT_FINDINGS];
    /* error */
    const char *error_class, *error_message, *error_excerpt;
    const char *output;        /* what it printed, from its load to the end of its check; NULL */
    uint64_t output_cut_bytes; /* that followed */
    double stages_ms[STAGE_COUNT];
    double reference_ms, candidate_ms; /* spent in calls: the necessary part of the run time */
    bool build_cached;
    uint32_t extensions;      /* PyTorch extensions that it had built */
    uint32_t extensions_slim; /* of these with our own headers (build.h) */
};

void verdict_init(struct verdict *verdict);
void verdict_deinit(struct verdict *verdict);
/* verdict_init for what the judge never came to. */
void verdict_init_unjudged(struct verdict *verdict, enum verdict_status status,
                           const char *class_name, const char *why);
/* Whether the judge came to it. False: it was refused, cancelled or lost before that. */
bool verdict_was_judged(const struct verdict *verdict);

/* NULL for AUDIT_NONE. */
const char *verdict_audit_name(enum audit_outcome outcome);
const char *verdict_status_name(enum verdict_status status);
const char *verdict_status_meaning(enum verdict_status status);
const char *verdict_stage_name(enum verdict_stage stage);
/* STATUS_COUNT: no status has that name; `name` may be NULL. */
enum verdict_status verdict_status_named(const char *name);

/* Whose text it is; the verdict keeps copies. Either may be NULL: unknown. */
void verdict_candidate(struct verdict *verdict, const char *path, const char *text, size_t bytes);
/* What is judged, and as what language; the verdict keeps copies. */
void verdict_identify(struct verdict *verdict, const struct problem *problem,
                      const struct candidate *candidate, const struct language *language);

/* Sets status and error. The first error wins: a later call changes nothing. */
void verdict_fail(struct verdict *verdict, enum verdict_status status, const char *class_name,
                  const char *message, const char *excerpt);
/* The same of a longer text: its first line is the message. */
void verdict_fail_text(struct verdict *verdict, enum verdict_status status, const char *class_name,
                       const char *text);
void verdict_violation(struct verdict *verdict, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void verdict_warning(struct verdict *verdict, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The beginning, `most` bytes, of what the candidate printed, which is `written` bytes long:
 * `bytes` has the first `count`. */
void verdict_output(struct verdict *verdict, const char *bytes, size_t count, size_t most,
                    uint64_t written);

/* Whether it has a warning with that code. */
bool verdict_has_warning(const struct verdict *verdict, const char *code);

/* Geometric mean of the cases' speedups; interval from the cases'. n == 0: not timed. */
void verdict_speedup(const struct verdict *verdict, struct interval *speedup);

/* A new reference (json_decref). */
json_t *verdict_json(const struct verdict *verdict);
/* A part of it: the value at a path of the table, such as "timing.candidate"; null where it is
 * absent. A new reference. */
json_t *verdict_json_at(const struct verdict *verdict, const char *path);
/* The other way, from untrusted JSON; verdict_deinit, on failure too. ERR_INPUT: a key is missing,
 * is not in the table, or has a value of another type or range; the sentence names the key. */
NODISCARD int verdict_read(const json_t *json, struct verdict *verdict, struct err *err);
/* A part of it into a verdict that there is: the value of a key of the whole, as "problem_audit".
 * On failure the part may be half read. */
NODISCARD int verdict_read_at(const json_t *value, const char *key, struct verdict *verdict,
                              struct err *err);

/* What is known of an evaluation that has ended. */
struct verdict_source {
    const char *id;
    enum verdict_status outcome; /* STATUS_COUNT: not known */
    const char *reason;          /* why it ended without a verdict; NULL */
    const json_t *json;          /* its verdict; NULL: none */
};
/* Its verdict; where there is none that can be read, one that says so. Never fails; the caller's
 * (verdict_deinit). */
void verdict_recover(const struct verdict_source *source, struct verdict *verdict);

/* Names of the sandbox's layers that held, or of those that did not, with limits that could not be
 * set. A new reference. */
json_t *verdict_layers_json(const struct verdict *verdict, bool held);
