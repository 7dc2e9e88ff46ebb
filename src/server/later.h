/* later: what an event sets off and may block, on a few threads of its own.
 *
 * The feed's thread tells that a job has ended; who then has to read and write the queue to make an
 * answer of it does so here, several at a time, so that their writes share a commit.
 *
 * Ownership: a struct later_work is its maker's storage, and his again when `run` is called.
 */
#ifndef WARPGYM_SERVER_LATER_H
#define WARPGYM_SERVER_LATER_H

#include "base/err.h"

struct later;

struct later_work {
    void (*run)(struct later_work *work);
    struct later_work *next; /* later's */
};

NODISCARD int later_open(struct later **out, struct err *err);
/* Never waits. Not after later_close. */
void later_push(struct later *later, struct later_work *work);
/* Runs what is left, then ends. NULL is fine. */
void later_close(struct later *later);

#endif
