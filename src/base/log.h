/* log: records for operators, on standard error, one write(2) each.
 *
 *   time=2025-03-01T12:00:00.123Z level=warn module=judge job=j1 msg="it is full" path=/var/x
 *   {"time":"2025-03-01T12:00:00.123Z","level":"warn","module":"judge","job":"j1","msg":…}
 *
 * Quiet by default: warnings and errors only. A record never fails and blocks only on the
 * descriptor; a record that is too long is cut, and stays one line, in JSON one object. Hooks let a
 * progress bar remove itself from the terminal around each record.
 *
 * The job of a record is a property of the thread that writes it, because modules below the queue
 * log too. Code that starts to work for a job sets it, in each of its threads:
 *
 *   const char *before = log_set_job(job->id);
 *   …
 *   log_set_job(before);
 *
 * Threads: every function may be called from any of them.
 */
#pragma once

#include "base/word_table.h"

#include <stdbool.h>

#define LOG_RECORD_BYTES 4096

#define LOG_LEVELS(X)                                                                              \
    X(LOG_LEVEL_ERROR, "error")                                                                    \
    X(LOG_LEVEL_WARN, "warn")                                                                      \
    X(LOG_LEVEL_INFO, "info")                                                                      \
    X(LOG_LEVEL_DEBUG, "debug")
enum log_level { WORD_SYMBOLS(LOG_LEVELS) };

#define LOG_FORMATS(X) X(LOG_FORMAT_TEXT, "text") X(LOG_FORMAT_JSON, "json")
enum log_format { WORD_SYMBOLS(LOG_FORMATS) };

void log_set_level(enum log_level level);
void log_set_format(enum log_format format);
/* Whether a record of that level would be written: for callers with costly arguments. */
bool log_enabled(enum log_level level);
/* The descriptor of all records, standard error by default; it stays the caller's. */
void log_set_fd(int fd);

/* Sets the job that this thread works for, NULL for none; returns the previous one. The text stays
 * the caller's and must live until another job is set. */
const char *log_set_job(const char *id);
const char *log_job(void);

/* Called before and after each record, never by two threads at the same time; NULL: none. A hook
 * must not log. */
void log_set_hooks(void (*hide)(void *context), void (*show)(void *context), void *context);

/* A message alone. */
void log_write(enum log_level level, const char *module, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A message and fields: "key", "value", …, NULL. Keys are plain names of our own. */
void log_event(enum log_level level, const char *module, const char *message, ...)
    __attribute__((sentinel));
