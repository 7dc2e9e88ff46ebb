/* log: records for operators, on standard error, one write(2) each.
 *
 *   time=2025-03-01T12:00:00.123Z level=warn module=compile msg="the cache is full" path=/var/x
 *
 * or, where a machine collects them, one JSON object of texts a line:
 *
 *   {"time":"2025-03-01T12:00:00.123Z","level":"warn","module":"compile","msg":"…","path":"/var/x"}
 *
 * Quiet by default: warnings and errors only. A record never fails and never blocks on anything but
 * the descriptor; what is too long is cut. Hooks let a progress bar take itself off the terminal
 * around each record. Threads: every function may be called from any of them.
 */
#ifndef WARPGYM_BASE_LOG_H
#define WARPGYM_BASE_LOG_H

#include <stdbool.h>

#define LOG_RECORD_BYTES 4096

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
/* Whether a record of that level would be written; asks before costly arguments. */
bool log_enabled(enum log_level level);
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

void log_set_format(enum log_format format);
/* Standard error unless told otherwise; the descriptor stays the caller's. */
void log_set_fd(int fd);

/* Called before and after each record, never at the same time by two threads; NULL: none. A hook
 * must not log. */
void log_set_hooks(void (*hide)(void *context), void (*show)(void *context), void *context);

/* A message alone. */
void log_write(enum log_level level, const char *module, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A message and fields: "key", "value", …, NULL. Values are quoted where they need it. */
void log_event(enum log_level level, const char *module, const char *message, ...)
    __attribute__((sentinel));

#endif
