/* journal: JSON lines that a killed process leaves whole.
 *
 * One writer at a time, kept out by a lock on the file. A line is there altogether or not at all:
 * what a kill left of the last one is cut off when the file is opened. journal_append has written
 * when it comes back, and with `durable` the disk has, too.
 *
 * Ownership: the caller's storage. Threads: journal_append from any number of them.
 * Errors: ERR_IO (disk, another process has it), ERR_LIMIT (a line above LIMIT_JOURNAL_LINE_BYTES),
 * ERR_INPUT (FILE:LINE: a line that is no JSON object).
 */
#ifndef WARPGYM_GYM_EPISODE_JOURNAL_H
#define WARPGYM_GYM_EPISODE_JOURNAL_H

#include "base/err.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct journal {
    int fd;
    char *path;
    bool durable;
    pthread_mutex_t lock;
};

/* For each line that is there: < 0 ends the reading with that. The object is valid during the call.
 * NULL: the lines are not looked at. */
typedef int (*journal_line)(void *context, const json_t *object, struct err *err);

/* Makes the file where there is none. */
NODISCARD int journal_open(struct journal *journal, const char *path, bool durable,
                           journal_line read, void *context, struct err *err);
NODISCARD int journal_append(struct journal *journal, const json_t *object, struct err *err);
void journal_close(struct journal *journal);

#endif
