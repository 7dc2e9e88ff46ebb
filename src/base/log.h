/* log: records for operators, on standard error, one write(2) each.
 *
 *   time=2025-03-01T12:00:00.123Z level=warn module=judge job=j1 msg="it is full" path=/var/x
 *   {"time":"2025-03-01T12:00:00.123Z","level":"warn","module":"judge","job":"j1","msg":…}
 *
 * Quiet by default: warnings and errors only. A record never fails and never blocks on anything but
 * the descriptor; what is too long is cut, and is still one line, and one object in JSON. Hooks let
 * a progress bar take itself off the terminal around each record.
 *
 * Which job a record belongs to is a property of the thread that writes it, because modules that
 * know nothing of jobs log too. Whoever begins to work for a job says so, and says so to threads
 * that it starts:
 *
 *   const char *before = log_set_job(job->id);
 *   …
 *   log_set_job(before);
 *
 * Threads: every function may be called from any of them.
 */
#ifndef WARPGYM_BASE_LOG_H
#define WARPGYM_BASE_LOG_H

#include <stdbool.h>

#define LOG_RECORD_BYTES 4096

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_COUNT
};
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_COUNT };

extern const char *const log_level_names[LOG_LEVEL_COUNT + 1]; /* NULL at the end */
extern const char *const log_format_names[LOG_FORMAT_COUNT + 1];

void log_set_level(enum log_level level);
void log_set_format(enum log_format format);
/* Whether a record of that level would be written; asks before costly arguments. */
bool log_enabled(enum log_level level);
/* Standard error unless told otherwise; the descriptor stays the caller's. */
void log_set_fd(int fd);

/* The job for which this thread works from now on, NULL for none; what it was before. The text
 * stays the caller's, and is read until another is set. */
const char *log_set_job(const char *id);
const char *log_job(void);

/* Called before and after each record, never at the same time by two threads; NULL: none. A hook
 * must not log. */
void log_set_hooks(void (*hide)(void *context), void (*show)(void *context), void *context);

/* A message alone. */
void log_write(enum log_level level, const char *module, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A message and fields: "key", "value", …, NULL. Keys are plain names of our own. */
void log_event(enum log_level level, const char *module, const char *message, ...)
    __attribute__((sentinel));

#endif
