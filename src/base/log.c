#include "base/log_record.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic int threshold = LOG_LEVEL_WARN;
static _Atomic int record_format = LOG_FORMAT_TEXT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = STDERR_FILENO;
static void (*hide_hook)(void *context);
static void (*show_hook)(void *context);
static void *hook_context;

static _Thread_local const char *job;

const char *const log_level_names[] = {"error", "warn", "info", "debug", NULL};
const char *const log_format_names[] = {"text", "json", NULL};

void log_set_level(enum log_level level)
{
    atomic_store(&threshold, (int)level);
}

void log_set_format(enum log_format format)
{
    atomic_store(&record_format, (int)format);
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load(&threshold);
}

void log_set_fd(int fd)
{
    pthread_mutex_lock(&mutex);
    log_fd = fd;
    pthread_mutex_unlock(&mutex);
}

const char *log_set_job(const char *id)
{
    const char *before = job;
    job = id;
    return before;
}

const char *log_job(void)
{
    return job;
}

void log_set_hooks(void (*hide)(void *context), void (*show)(void *context), void *context)
{
    pthread_mutex_lock(&mutex);
    hide_hook = hide;
    show_hook = show;
    hook_context = context;
    pthread_mutex_unlock(&mutex);
}

static void begin(struct log_record *record, enum log_level level, const char *module,
                  const char *message)
{
    char stamp[CLOCK_TEXT_BYTES];
    clock_text(clock_wall_ms(), stamp);
    log_record_init(record, (enum log_format)atomic_load(&record_format));
    log_record_field(record, "time", stamp);
    log_record_field(record, "level", log_level_names[level]);
    log_record_field(record, "module", module);
    if (job)
        log_record_field(record, "job", job);
    log_record_field(record, "msg", message);
}

/* A failed write of the log fails nothing else; errno is preserved. */
static void end(struct log_record *record)
{
    int saved = errno;
    log_record_end(record);
    pthread_mutex_lock(&mutex);
    if (hide_hook)
        hide_hook(hook_context);
    while (write(log_fd, record->text, record->used) < 0 && errno == EINTR)
        continue;
    if (show_hook)
        show_hook(hook_context);
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

void log_write(enum log_level level, const char *module, const char *format, ...)
{
    struct log_record record;
    char message[LOG_RECORD_BYTES / 2];
    va_list args;
    if (!log_enabled(level))
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    begin(&record, level, module, message);
    end(&record);
}

void log_event(enum log_level level, const char *module, const char *message, ...)
{
    struct log_record record;
    va_list args;
    if (!log_enabled(level))
        return;
    begin(&record, level, module, message);
    va_start(args, message);
    for (const char *key; (key = va_arg(args, const char *));) {
        const char *value = va_arg(args, const char *);
        if (!value)
            break;
        log_record_field(&record, key, value);
    }
    va_end(args);
    end(&record);
}
