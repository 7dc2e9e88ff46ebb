/* native: from a C, C++ or CUDA source to two children with loaded shared objects.
 *
 * The reference is prepared in a thread of its own while the candidate compiles:
 *
 *   compile candidate ────────────────────── open it ─┬─► both ready
 *   compile reference ─ open it ─ its slot ───────────┘
 *
 * Threads: the session's; the second thread ends before a function returns.
 */
#pragma once

#include "base/err.h"

struct session;

/* The reference alone; nothing to do if the session has it. 0 or -1 (the verdict says why). */
int native_open_reference(struct session *session);

/* What differs between the languages of native candidates. */
struct backend_ops {
    /* 0 or -1 (the verdict says why). */
    int (*compile)(struct backend_ops *self, struct session *session);
    /* Opens the candidate's child. A failure is weighed by fault_candidate. */
    int (*open)(struct backend_ops *self, struct session *session, struct err *err);
};

/* Stages "compile" and "load" of a native candidate. 0 or -1 (the verdict says why). */
int native_open_with(struct session *session, struct backend_ops *backend);
/* The same for languages with a compile kind: C, C++ and CUDA. */
int native_open(struct session *session);
