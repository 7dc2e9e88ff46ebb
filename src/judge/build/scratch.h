/* build_scratch: a scratch directory, a sandbox and the cache, for what the judge compiles for a
 * torch child: extension.c runs scripts there, step.c one program.
 *
 * Ownership: a build_scratch is the caller's storage; build_scratch_close removes the directory,
 * and is safe after a failure. Threads: one for each context.
 */
#pragma once

#include "base/hash.h"
#include "base/process.h"
#include "base/settings.h"
#include "compile/cache.h"
#include "device/gpu_context.h"
#include "judge/process/spawner.h"
#include "sandbox/runner.h"

#include <pthread.h>

/* What all builds of a judge share. */
struct build_tools {
    /* the caller's, set before build_tools_init */
    const struct settings *settings;
    const struct toolchain *toolchain;
    const struct installation *installation;
    struct spawner *spawner;
    /* its own, made when first needed, under `lock` */
    pthread_mutex_t lock;
    char *torch_paths;            /* where PyTorch's headers and libraries are: torch_paths.c */
    char *triton_paths;           /* the same of Triton: triton.c */
    pthread_mutex_t kernels_lock; /* while the judge's own kernels are compiled: judge_kernels.c */
};

/* What the builds of one candidate have used of what it may: settings compile.*. */
struct build_use {
    int64_t builds;
    double spent_ms, waited_ms; /* building, and until others had had their turns */
    uint64_t bytes;
};

/* On whose behalf something is built. */
struct build_context {
    struct build_tools *tools;
    const struct settings *settings; /* of the evaluation */
    const struct gpu_context *gpu;   /* that it computes on; NULL: the CPU */
    struct sandbox_runner runner;
    struct build_use *use; /* the caller's */
};

struct build_scratch {
    const struct build_context *context; /* the caller's */
    char *directory;
};

void build_tools_init(struct build_tools *tools);
void build_tools_deinit(struct build_tools *tools);

NODISCARD int build_scratch_open(struct build_scratch *scratch, const struct build_context *context,
                                 struct err *err);
void build_scratch_close(struct build_scratch *scratch);
NODISCARD int build_scratch_write(const struct build_scratch *scratch, const char *name,
                                  const void *bytes, size_t count, struct err *err);
/* Runs a program of this machine there, not one of a bundle; `readable`, and nothing else. It gets
 * the time that the candidate has left. */
NODISCARD int build_scratch_command(const struct build_scratch *scratch, const char *const *argv,
                                    const char *const *environment, const char *const *readable,
                                    struct outcome *outcome, struct err *err);
/* Runs a shell script there. `readable`: NULL-terminated, beside what compilers need. */
NODISCARD int build_scratch_script(const struct build_scratch *scratch, const char *script,
                                   const char *const *readable, struct outcome *outcome,
                                   struct err *err);
/* A file that a script has left, opened so that a link planted there is not followed; -1: none. */
int build_scratch_result(const struct build_scratch *scratch, const char *name);

/* The judge's cache by content. A miss is false; `object`: -1 for a failure that comes again. */
bool build_scratch_find(const struct build_context *context, const char key[HASH_HEX_BYTES],
                        struct cache_entry *entry);
void build_scratch_keep(const struct build_context *context, const char key[HASH_HEX_BYTES],
                        int object, const char *words);
/* Bytes of an object from its beginning; the caller's. `most`: how many there are at most. */
NODISCARD int build_scratch_read(int fd, uint64_t most, char **bytes, size_t *count,
                                 struct err *err);
