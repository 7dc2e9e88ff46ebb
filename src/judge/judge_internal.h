/* judge_internal: the inside of struct judge, and what judge.c defines for the rest of this module.
 *
 * Convention of the whole project: X.h declares what X.c defines, in its order. X_internal.h exists
 * only where X.h is for other modules and leaves a struct opaque, whose inside several files of
 * this module read; nothing outside of the module includes it.
 */
#pragma once

#include "base/mem.h"
#include "compile/compile.h"
#include "device/peaks.h"
#include "judge/gpu/gpu_pool.h"
#include "judge/judge.h"
#include "judge/reference/reference.h"
#include "judge/request/language.h"
#include "sandbox/standby.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct judge {
    /* fixed once it is open */
    struct judge_options options;
    struct toolchain toolchain;
    struct languages languages; /* of the configuration */
    struct arena languages_arena;
    char *root, *cache, *state, *locks, *child_program, *python, *python_package;
    char *python_problem;   /* why WARPGYM_PYTHON cannot be run; NULL */
    int awake;              /* keeps processors from halting as long as there is a judge */
    uint64_t weight_secret; /* the weights of all problems follow from it */
    /* made when first needed, under `lock` */
    pthread_mutex_t lock;
    char *torch_paths;  /* where PyTorch's headers and libraries are: build/torch_paths.c */
    char *triton_paths; /* the same of Triton: build/triton.c */
    struct standby *native, *torch, *cuda, *torch_cuda, *nvrtc; /* process/standby_servers.c */
    struct peaks peaks;
    bool have_peaks;
    /* each with a lock of its own */
    struct gpu_pool gpus;
    struct busy_time cpu_busy;
    struct reference_cache references;
    pthread_mutex_t work_lock; /* while the judge's own kernels are compiled: reference/native.c */
    /* found out on the way */
    _Atomic int tracing;      /* 1: launches can be traced here; -1: they cannot; 0: unknown */
    _Atomic int sessions;     /* how many were made */
    _Atomic bool no_own_root; /* sandboxes get no root of their own here */
    _Atomic bool probed;      /* no_own_root is known */
};

/* Whether torch problems are judged on a GPU (setting torch.device). If not, err says why there is
 * none, unless the setting is "cpu". */
bool judge_torch_on_gpu(struct judge *judge, const struct settings *settings, struct err *err);
/* Measured the first time. */
NODISCARD int judge_peaks(struct judge *judge, struct peaks *peaks, struct err *err);
