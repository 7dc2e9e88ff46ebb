/* process: running a command to its end, with bounds.
 *
 * `struct runner` is the one interface by which modules below sandbox/ run untrusted work: compile/
 * builds with the runner that its caller passes. process_runner runs commands without isolation
 * (trusted tools and tests); sandbox_runner (sandbox/command.h) runs them in a sandbox.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct command {
    const char *const *argv;        /* NULL-terminated; argv[0] is an absolute path */
    const char *const *environment; /* NULL-terminated "NAME=value"; NULL: empty */
    const char *directory;       /* scratch directory: working directory, the one writable place */
    const char *const *readable; /* NULL-terminated paths that the command may read and run */
    int64_t timeout_ms;
    uint64_t memory_bytes; /* address space of each process; 0: no bound */
    uint64_t file_bytes;   /* largest file it may write; 0: no bound */
    bool resident;         /* argv[0] names a library that the runner's processes have loaded */
};

struct outcome {
    int exit_code;  /* -1 when a signal ended it */
    int signal;     /* 0 when it exited */
    bool timed_out; /* killed at timeout_ms */
    double elapsed_ms;
    /* of these, until it could run, while others had their turns, and without a processor */
    double waited_ms;
    struct buf output; /* stdout and stderr together, bounded; outcome_deinit frees it */
};

void outcome_init(struct outcome *outcome, size_t max_output_bytes);
void outcome_deinit(struct outcome *outcome);

struct runner {
    bool own_root; /* commands run in a private root, in which a bundled toolchain is /usr */
    /* 0 when the command ran to an end of any kind (read the outcome), a negative code when it
     * could not be started or was cancelled. Leaves no process behind. */
    int (*run)(struct runner *self, const struct command *command, struct outcome *outcome,
               struct err *err);
};

/* Runs without isolation: a new session, closed descriptors, the given environment, limits. */
extern struct runner process_runner;

/* Absolute path of `name` in PATH (or the usual system directories), or NULL. Caller's. */
char *process_find(const char *name);
/* The first there of a plain name that also `fits`; NULL: any. */
char *process_find_fitting(const char *name, bool (*fits)(const char *path));
