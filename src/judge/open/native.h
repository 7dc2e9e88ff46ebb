/* native: from a C, C++ or CUDA source to two children with loaded shared objects.
 *
 * The reference is prepared in a thread of its own while the candidate compiles. On a GPU it is
 * opened only when the candidate has compiled and the caller has entered the device: until then
 * other sessions may use the cached one.
 *
 *   CPU   compile candidate ────────────────────────┬─ (enter the device) ─ open candidate ─► ready
 *         compile reference ─ open it ─ slot memory ┘
 *
 *   GPU   compile candidate ─┬─ (enter the device) ─ open reference ─ open candidate ─► ready
 *         compile reference ─┘
 *
 * Threads: the session's; native_opening_load and native_opening_wait end the second one. Errors:
 * as opening.h has them.
 */
#pragma once

#include "judge/open/opening.h"

#include <pthread.h>

/* What differs between the languages of native candidates. */
struct native_backend {
    int (*compile)(struct native_backend *self, struct opening *opening);
    /* Opens the candidate's child. A failure is FAULT_CANDIDATE. */
    int (*open)(struct native_backend *self, struct opening *opening, struct err *err);
    struct artifact artifact; /* of languages with a compile kind */
    int built;                /* external: sealed memory; -1: it is not compiled beforehand */
    const char *name;         /* external: what the source is called */
};

extern const struct native_backend native_backend; /* of C, C++ and CUDA: a copy is a candidate's */
void native_backend_close(struct native_backend *backend);

/* A reference in the making, and the backend of the candidate beside it. The thread writes the
 * reference and nothing else of `opening`. */
struct native_opening {
    struct opening *opening;
    struct native_backend *backend;
    const char *job; /* in the log */
    pthread_t thread;
    bool threaded; /* `thread` is to be joined */
    int result;
    struct err err;
    enum fault_source whose; /* doing `err` is */
    _Atomic bool slot_begun; /* by the thread that has nothing else to do */
    struct shared slot;      /* of the candidate */
    int slot_result;
    struct err slot_err;
};

/* The reference alone; nothing to do if opening->reference is it. */
int native_open_reference(struct opening *opening);

/* Compiles the candidate, and begins to prepare the reference. native_opening_load comes later,
 * whatever the result. */
int native_opening_compile(struct native_opening *native, struct opening *opening,
                           struct native_backend *backend);
/* Until the second thread has ended. */
void native_opening_wait(struct native_opening *native);
/* Once the device is entered: the reference that native_opening_load finds. */
void native_opening_make_reference(struct native_opening *native);
/* Opens the candidate unless `result` is negative: then all that was prepared is given up. */
int native_opening_load(struct native_opening *native, int result);

/* A CUDA candidate where it cannot run: is it at least well formed? */
int native_compile_only(struct opening *opening);
