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
#include "judge/audited.h"
#include "judge/build/scratch.h"
#include "judge/judge.h"
#include "judge/open/reference_cache.h"
#include "judge/process/gpu_cores.h"
#include "judge/process/memory_plan.h"
#include "judge/request/language.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct judge {
    /* fixed once it is open */
    struct judge_options options;
    struct installation installation;
    struct toolchain toolchain;
    struct languages languages; /* of the configuration */
    struct arena languages_arena;
    int awake; /* keeps processors from halting as long as there is a judge */
    struct gpu_cores gpu_cores;
    uint64_t weight_secret; /* the weights of all problems follow from it */
    /* measured when first needed, under `lock` */
    pthread_mutex_t lock;
    struct peaks peaks;
    bool have_peaks;
    /* each with locks of its own */
    struct spawner spawner;
    struct build_tools tools;
    struct gpu_pool gpus;
    struct busy_time cpu_busy;
    struct reference_cache references;
    struct memory_plans plans; /* of torch problems */
    struct memory_gate memory; /* of this machine, for evaluations on the CPU */
    struct audits audits;
    /* found out on the way */
    _Atomic int tracing;  /* 1: launches can be traced here; -1: they cannot; 0: unknown */
    _Atomic int sessions; /* how many were made */
};

/* Does a GPU work again after its quarantine? A sandboxed process that is to load nothing makes a
 * context, some memory and a fill there before it finds out that there is nothing to load. Cached
 * references there are closed. As gpu_pool_options.probe, of a struct judge. */
NODISCARD int judge_probe_gpu(void *judge, const struct gpu *facts, struct err *err);
/* Whether torch problems are judged on a GPU (setting torch.device). If not, err says why there is
 * none, unless the setting is "cpu". */
bool judge_torch_on_gpu(struct judge *judge, const struct settings *settings, struct err *err);
/* Measured the first time. */
NODISCARD int judge_peaks(struct judge *judge, struct peaks *peaks, struct err *err);
