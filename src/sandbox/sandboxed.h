/* sandboxed: one process in a sandbox, as the judge sees and controls it.
 *
 * standby_spawn makes it (standby.h), sandboxed_close ends it. Threads: one at a time.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sandboxed {
    pid_t pid;   /* 0: none */
    int channel; /* SOCK_SEQPACKET */
    int pid_fd;
    int output;      /* what it prints: output.h; 0 or less: that is not kept */
    uint32_t layers; /* bits of enum sandbox_layer that hold */
    bool frozen;
    bool stands_back;      /* sandboxed_stand_back */
    int64_t idle_since_ns; /* the processor time that it had used then: sandboxed_mark_idle */
    int64_t resisted_ns;   /* processor time that it used while it was to stop, and did not */
    int64_t runs_since_ns; /* when it was started or thawed last, by clock_now_ns */
    bool reaped;
    int status; /* as waitpid gives it, once reaped */
};

/* Stops every thread; returns when all have stopped. If they wait for a processor to stop on, they
 * go ahead of others, where the judge may arrange that (CAP_SYS_NICE). ERR_CRASH: it is dead (and
 * reaped); ERR_TIMEOUT: it has been killed, because it did not stop in two seconds, or has computed
 * for a second, in all its stops, when it was to stop. */
NODISCARD int sandboxed_freeze(struct sandboxed *process, struct err *err);
void sandboxed_thaw(struct sandboxed *process);
/* Until it is stopped the next time it gets what processor time others leave, however many threads
 * it has. Nothing happens where the judge may not take that back (CAP_SYS_NICE). */
void sandboxed_stand_back(struct sandboxed *process);
/* From here on a frozen process has no reason to run; freezing it says so, too. */
void sandboxed_mark_idle(struct sandboxed *process);
/* Processor time that its threads have used since, all together. If that is not 0 of a frozen
 * process, something has continued it, and it is stopped once more. 0 also if the kernel does not
 * say. */
int64_t sandboxed_ran_ns(const struct sandboxed *process);

/* A copy of the process's memory; the address is the process's own word and may be a lie, which
 * costs an error (ERR_PROTOCOL), nothing more. ERR_CRASH: it is being killed, by the machine where
 * memory is short; waits until it can be reaped. */
NODISCARD int sandboxed_read(struct sandboxed *process, uint64_t address, void *into, size_t count,
                             struct err *err);

/* A numeric field of /proc/PID/stat, counted as in proc(5) (20: threads, 39: processor that it ran
 * on last); -1 where there is none. */
long sandboxed_stat(pid_t pid, int field);

/* True when the process has ended; then `status` is set. Never blocks. */
bool sandboxed_ended(struct sandboxed *process);
/* By SIGKILL, which comes from the machine (out of memory) or its operator. */
bool sandboxed_killed(const struct sandboxed *process);
/* For people: "exited with status 3", "was killed by SIGSEGV (segmentation fault)". */
void sandboxed_status_text(const struct sandboxed *process, char *text, size_t text_bytes);
/* Its channel is at its end: ERR_CRASH with how it ended, or ERR_PROTOCOL if it lives. */
int sandboxed_explain_end(struct sandboxed *process, struct err *err);

/* Kills it and all in its namespace, reaps it, closes descriptors. Safe on a zeroed struct. */
void sandboxed_close(struct sandboxed *process);
