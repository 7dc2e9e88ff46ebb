/* open: stages "compile" and "load": reference and candidate of an evaluation become two children.
 *
 * Threads: the session's.
 */
#pragma once

struct session;

/* 0 or -1 (the verdict says why). */
int open_children(struct session *session);
/* The reference alone, on the session's device, which is entered. Likewise. */
int open_only_reference(struct session *session);
