/* context: the inside of struct judge and struct session, for the files of this folder. */
#ifndef WARPGYM_JUDGE_CONTEXT_H
#define WARPGYM_JUDGE_CONTEXT_H

#include "compile/compile.h"
#include "device/lock.h"
#include "device/peaks.h"
#include "judge/build/build.h"
#include "judge/gpu/gpu_pool.h"
#include "judge/judge.h"
#include "judge/process/child.h"
#include "judge/process/warm_pool.h"
#include "judge/reference/reference.h"
#include "judge/request/language.h"
#include "sandbox/command.h"
#include "sandbox/standby.h"

#include <pthread.h>

struct judge {
    struct judge_options options;
    struct toolchain toolchain;
    struct languages languages; /* of the configuration */
    struct arena languages_arena;
    char *root, *cache, *state, *locks, *child_program, *python, *python_package;
    char *python_problem; /* why WARPGYM_PYTHON cannot be run; NULL */
    pthread_mutex_t lock; /* the lazily made parts below */
    int awake;            /* processors are kept from halting as long as there is a judge */
    char *torch_paths;    /* where PyTorch's headers and libraries are: extension.c */
    char *triton_paths;   /* and Triton: triton.c */
    struct standby *native, *torch, *cuda, *torch_cuda, *nvrtc;
    struct gpu_pool gpus;
    struct busy_time cpu_busy;
    pthread_mutex_t work_lock; /* while kernels for them are compiled */
    _Atomic int tracing;       /* 1: launches can be traced here; -1: not; 0: nobody has tried */
    struct peaks peaks;
    bool have_peaks;
    struct reference_cache references; /* references that nobody uses now */
    uint64_t weight_secret;            /* weights of all problems follow from it */
    _Atomic int sessions;              /* how many were made */
    _Atomic bool no_own_root; /* sandboxes get no root of their own here: known once one was made */
    _Atomic bool probed;
};

/* Expected outputs of one trial. `wide` from the oracle, where there is one. */
struct answer {
    uint32_t count;
    bool has_oracle;
    struct tensor plain[WIRE_OUTPUTS];
    struct tensor wide[WIRE_OUTPUTS];
    char *owned[WIRE_OUTPUTS]; /* copies behind `wide` (torch) */
    size_t owned_bytes[WIRE_OUTPUTS];
    struct gpu_memory owned_there[WIRE_OUTPUTS]; /* the same on a GPU */
    double own_error[WIRE_OUTPUTS]; /* of the reference against its oracle: slack for others */
};

/* Of trials that stay on the GPU: trial_gpu.c. */
struct gpu_staging {
    struct gpu_memory image, findings;
    bool image_on_host; /* torch: the session's `staging` is it, for lack of room */
};

struct session {
    struct judge *judge;
    struct sandbox_runner runner;
    struct reference reference; /* of the problem at hand, while it is needed */
    /* the evaluation at hand */
    const char *job; /* as the log calls it; NULL: by its verdict */
    const struct problem *problem;
    const struct candidate *text;
    const struct language *language; /* that it is written in */
    const struct settings *settings;
    const _Atomic int *cancelled;
    bool no_timing;
    char reference_hash[HASH_HEX_BYTES]; /* of the problem and what else its reference is made by */
    struct verdict *verdict;
    struct gpu_unit *unit;         /* of the judge's GPUs, taken for it; NULL: none */
    const struct gpu_unit *before; /* that the evaluation before had */
    const struct gpu_context *gpu; /* of the unit: both children compute on it; NULL: the CPU */
    struct err no_gpu;             /* why a CUDA candidate has none */
    struct child candidate;
    struct answer answer;
    struct builds builds; /* for both torch children */
    char *staging;        /* the inputs of the trial at hand, as a slot lays them out */
    uint64_t staging_bytes;
    struct gpu_staging gpu_staging;
    struct layout largest; /* of the problem at hand */
    bool bias_makes_sense; /* biased inputs gave finite answers, which were right */
    uint64_t
        noise;  /* of the trial at hand: what layers draw themselves, the same on both children */
    int places; /* that it has on the GPU */
    bool loads; /* its candidate loads: the reference may rest while it compiles */
    enum sandbox_kind kind;       /* of its children on the GPU */
    struct sandboxed reserved[2]; /* processes with a context, for children that are opened next */
    uint32_t reserved_count;
    struct device_lock device;
    int64_t held_ns;              /* since when */
    bool shares;                  /* it, with others */
    bool alone;                   /* it is to have the GPU, and all of its memory, from the start */
    bool wants_alone;             /* somebody found no memory there, or no peace */
    int64_t clocks_ns;            /* when they were looked at */
    struct cpu_affinity affinity; /* where the children' calls take place */
    int place; /* of the seat: other sessions sit elsewhere, as far as there is room */
};

/* context.c */
NODISCARD int judge_standby(struct judge *judge, enum sandbox_kind kind, struct standby **standby,
                            struct err *err);
/* Whether torch problems are judged on a GPU (setting torch.device). Where not, err says why there
 * is none, unless it was not asked for. */
bool judge_torch_on_gpu(struct judge *judge, const struct settings *settings, struct err *err);
/* device_code.c: the server for commands that NVRTC runs; NULL where there is no NVRTC here. */
NODISCARD int judge_nvrtc(struct judge *judge, struct standby **standby, struct err *err);
/* Starts it, without waiting, where something looks like a GPU. */
void judge_warm_nvrtc(struct judge *judge);
/* Whether a CUDA source has kernels only, which are started as a launch line says. */
bool device_only(const struct problem *problem, const char *source);
/* Whether this machine compiles such a source, or one with a host function. ERR_MISSING: no. */
NODISCARD int device_compiler(const struct judge *judge, bool only, struct err *err);
/* Whether its launch lines make sense. ERR_INPUT: in the words of a compiler, about file `name`. */
NODISCARD int device_check(const struct problem *problem, const char *name, const char *source,
                           struct err *err);
/* What a child must know to start them (child/launcher.h), as sealed memory: a descriptor. */
NODISCARD int device_lines(const struct problem *problem, const char *source, struct err *err);
/* What "device" means in locks: "cpu", or a GPU by its UUID, which is the same for processes that
 * see different ones of a machine's GPUs. */
const char *session_device(const struct session *session);
/* start.c: what a child is told of its GPU; `facts` NULL: it has none. */
struct wire_gpu judge_wire_gpu(const struct judge *judge, const struct gpu *facts);
/* start.c: opens a child in a sandbox with room for arguments of that size (or in start->sandboxed, which is
 * taken over, where there is one); fills in what `start` has in common for all children (its message,
 * descriptors, builder, timeout and flag are the caller's). */
NODISCARD int judge_start_child(struct judge *judge, struct gpu_unit *unit, enum sandbox_kind kind,
                                uint64_t arguments_bytes, struct child *child,
                                struct child_start *start, struct wire_opened *opened,
                                int opened_descriptors[WIRE_DESCRIPTORS], struct err *err);
/* The pool of that kind for a GPU; NULL: there is none, or not here. Makes it when it is first
 * asked for. */
struct warm_pool *judge_warm_pool(struct judge *judge, struct gpu_unit *unit,
                                  enum sandbox_kind kind);
/* A bundled compiler must know beforehand whether sandboxes get a root of their own. */
NODISCARD int judge_probe_sandbox(struct judge *judge, struct standby *standby, struct err *err);
NODISCARD int judge_peaks(struct judge *judge, struct peaks *peaks, struct err *err);
int session_threads(const struct session *session);
/* build.c: what a stage that began then took, less what was spent in it on compiling for torch
 * children and on waiting for the device after that. */
void session_end_stage(struct session *session, enum verdict_stage stage, int64_t start_ns);
/* device_lease.c: the way to the device; with a GPU, processes of that kind are reserved for both children. 0
 * or -1 (the verdict says why). */
int session_enter(struct session *session, enum sandbox_kind kind);
/* One of those, for who is opened now (to be taken over); NULL: none. */
const struct sandboxed *session_reserved(struct session *session);
/* The device's lock, shared; and instead of that for nobody else. */
int session_share(struct session *session);
int session_have_alone(struct session *session);
/* Gives back the lock; all of it. */
void session_let_go(struct session *session);
/* session.c: its process is over, and what there is to know of it is in the verdict. */
void session_end_candidate(struct session *session);
/* What the judge itself has on the GPU for it. */
void session_free_there(struct session *session);
void session_leave(struct session *session);
/* While something is compiled a GPU is not held, unless it is being timed, nor a reference that has
 * not been called yet. True: it was let go, and session_share_again takes it again. */
bool session_share_no_more(struct session *session);
void session_share_again(struct session *session, bool shared);

/* native.c: the judge's own kernels, compiled once for each GPU; NULL: it has none. */
const struct gpu_work *session_work(struct session *session);

/* fault.c: whose fault an error is. Each records it in the verdict and returns -1. */
int fault_reference(struct session *session, const struct err *err);
int fault_candidate(struct session *session, const struct err *err);
int fault_judge(struct session *session, const struct err *err);
/* Of the process that makes the cases of a simple problem: the candidate's where it brings them. */
int fault_cases(struct session *session, const struct child *child, const struct err *err);
int fault_gpu_memory(struct session *session,
                     const struct err *err); /* nobody's: the GPU is too small */

/* native.c, torch.c: stages "compile" and "load". 0 or -1 (the verdict says why). */
int native_open(struct session *session);
int torch_open(struct session *session);
int external_open(struct session *session);
/* native.c: the way of a native candidate, as far as it is the same for every language. */
struct backend_ops {
    int (*compile)(struct backend_ops *self, struct session *session); /* 0 or -1, likewise */
    /* The candidate's child. What fails is the candidate's fault, as fault_candidate has it. */
    int (*open)(struct backend_ops *self, struct session *session, struct err *err);
};
int session_open(struct session *session, struct backend_ops *backend_ops);
/* The reference child alone; nothing to do where it stands ready. */
int native_open_reference(struct session *session);
int torch_open_reference(struct session *session);
/* session_reference.c: what is judged next, by the session's settings. */
void session_take_problem(struct session *session, const struct problem *problem);
/* Whether the one of the problem at hand stands ready, and lives: the session has it, or takes it
 * from the shelf. */
bool session_reference_ready(struct session *session);
/* It goes to the shelf. */
void session_rest_reference(struct session *session);
/* From which the weights of the problem at hand follow, in all its references and candidates. */
uint64_t session_weight_seed(const struct session *session);

/* trial.c, trial_judge.c */
struct trial {
    struct layout layout;
    uint32_t slots; /* calls on inputs of their own that one clock interval takes; 0: one */
    uint32_t calls; /* native, on a GPU: only those of the first so many slots are made; 0: all */
    bool on_gpu;    /* inputs are made and outputs compared there */
    bool shifted;   /* inputs from both tails of the problem's own: input_shift.h */
    bool alike;     /* not even one slot's: all calls are to take the same time */
    bool oracle;    /* compute the wide answer too */
    bool untouched; /* check that `in` arguments are as they were */
    int64_t timeout_ms;
};
enum trial_result { TRIAL_GOOD, TRIAL_VOID, TRIAL_ENDED };
/* What an output, counted from 0, is held to: its argument's tolerance, or the problem's; equal
 * bytes for whole numbers. */
struct tolerance trial_tolerance(const struct session *session, uint32_t output, uint32_t dtype);
/* The same as a rule for one output. */
struct comparison trial_comparison(const struct session *session, uint32_t output, uint32_t dtype,
                                   uint32_t expected_dtype, uint64_t count);
/* Wherever the two lie. */
NODISCARD int trial_compare(struct session *session, const struct comparison *spec,
                            const struct tensor *expected, const struct tensor *got,
                            struct difference *difference, struct err *err);
bool trial_same_form(const struct tensor *expected, const struct tensor *got);
/* Between these, calls of the children take place at the session's seat (cpu_affinity.h). */
void trial_begin(struct session *session);
void trial_end(struct session *session);
/* Prepares both children for the layout. */
int trial_map(struct session *session, const struct trial *trial, bool oracle);
/* As trial_map, without the candidate. */
int trial_map_reference(struct session *session, const struct trial *trial, bool oracle);
/* Of the problem's timed size number `at`, and the bytes that a call of it moves (native; else 0);
 * of the first size that is checked, where none is timed. */
int trial_layout(const struct session *session, uint32_t at, struct layout *layout, double *bytes,
                 struct err *err);
/* Fresh inputs, staged for both. */
int trial_prepare(struct session *session, const struct trial *trial);
/* Stages what lies in the reference's slot now. */
void trial_stage(struct session *session);
/* Each lays out its child's inputs and poisoned outputs, and calls it. */
int trial_reference(struct session *session, const struct trial *trial, struct child_time *time);
int trial_candidate(struct session *session, const struct trial *trial, struct child_time *time);
/* One child in another mode (wire.h); errors are for the caller to weigh. */
NODISCARD int trial_in(struct session *session, const struct trial *trial, struct child *child,
                       uint32_t mode, struct child_time *time, struct err *err);
/* Compares; TRIAL_ENDED: the verdict has an end. */
enum trial_result trial_judge(struct session *session, const struct trial *trial);
/* All five in turn, reference first. */
enum trial_result trial_run(struct session *session, const struct trial *trial);

/* Room in the staging for all slots. */
void trial_make_staging(struct session *session);
#define TRIAL_GUARD_BYTE 0xA5
#define TRIAL_POISON_BYTE 0xFF /* a NaN in every floating type */

/* Whether arguments and outputs of both children never leave the GPU. */
bool trial_is_torch_on_gpu(const struct session *session);

/* Whether nothing of such a trial needs the host. */
bool trial_gpu_suits(const struct session *session, const struct trial *trial);
/* memory_budget.c. ERR_UNSUPPORTED: a call of the problem at hand does not fit into the GPU's memory. */
NODISCARD int memory_budget_check(const struct session *session, struct err *err);
/* Whether an image of that many bytes of arguments fits beside both children'. */
bool memory_budget_fits_image(const struct session *session, uint64_t bytes);
/* How many calls of the trial at once fit into what is free now; less than 1: hardly one. */
double memory_budget_slots(const struct session *session, const struct trial *trial);

/* trial_gpu.c: between these two, trials may be `on_gpu`. False: they may not. */
bool trial_gpu_begin(struct session *session, const struct trial *trial);
void trial_gpu_end(struct session *session);
int trial_gpu_prepare(struct session *session);
/* Torch: room for the inputs' image, on the host where the GPU has too little; what the reference's
 * slots hold becomes that image. */
NODISCARD int trial_gpu_make_image(struct session *session, const struct trial *trial,
                                   struct err *err);
NODISCARD int trial_gpu_stage(struct session *session, struct err *err);
NODISCARD int trial_gpu_lay_out(const struct session *session, struct child *child,
                                struct err *err);
/* *agrees is false where something may be wrong; what exactly is for trial_compare to say. */
int trial_gpu_agrees(struct session *session, bool *agrees);
/* Whether the GPU is idle while both children are stopped; where the candidate left something running
 * that goes on, the verdict has an end. */
int trial_gpu_idle(struct session *session);
/* As compare_tensor, of tensors on the GPU. */
NODISCARD int trial_gpu_compare(struct session *session, const struct comparison *spec,
                                const struct tensor *expected, const struct tensor *got,
                                struct difference *difference, struct err *err);
NODISCARD int trial_gpu_all_finite(struct session *session, const struct tensor *tensor,
                                   bool *finite, struct err *err);

/* probe.c: whether a fresh process behind the fence can use the GPU; of a struct judge. */
NODISCARD int judge_probe_gpu(void *judge, const struct gpu *facts, struct err *err);

/* clocks.c: what the GPU's clocks did while it was timed, into the verdict; nothing on the CPU.
 * Between begin and end, look whenever nothing is being timed: it is as cheap as its caller is
 * patient (CLOCKS_PAUSE_MS). */
#define CLOCKS_PAUSE_MS 50
void clocks_begin(struct session *session);
void clocks_look(struct session *session);
void clocks_end(struct session *session);

/* check.c, timing.c, profile.c: the other stages */
int check_stage(struct session *session);
int timing_stage(struct session *session);
int profile_stage(struct session *session);
/* confirm.c: on a GPU, whether the reference was as fast beside the candidate as it is alone. The
 * candidate's process may be gone then. */
int confirm_stage(struct session *session);

#endif
