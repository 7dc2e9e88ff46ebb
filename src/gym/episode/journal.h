/* journal: JSON lines that stay complete when a process is killed.
 *
 * One writer at a time, enforced by a lock on the file. A line is written completely or not at all:
 * opening the file truncates an incomplete last line. After journal_append the line is written, and
 * with `durable` it is on disk.
 *
 * Ownership: the caller's storage. Threads: any number may call journal_append.
 * Errors: ERR_IO (disk, another process has it), ERR_LIMIT (a line above LIMIT_JOURNAL_LINE_BYTES),
 * ERR_INPUT (FILE:LINE: not a JSON object).
 */
#pragma once

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

/* Called for each existing line: a negative value stops the reading and is returned. The object is
 * valid during the call. NULL: lines are not parsed. */
typedef int (*journal_line)(void *context, const json_t *object, struct err *err);

/* Creates the file if missing. */
NODISCARD int journal_open(struct journal *journal, const char *path, bool durable,
                           journal_line read, void *context, struct err *err);
/* Takes over the reference, after an error too. */
NODISCARD int journal_append(struct journal *journal, json_t *object, struct err *err);
void journal_close(struct journal *journal);
