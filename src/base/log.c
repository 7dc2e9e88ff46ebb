#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic int threshold = LOG_LEVEL_WARN;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = STDERR_FILENO;
static void (*hide_hook)(void *context);
static void (*show_hook)(void *context);
static void *hook_context;

/* A record under way; the last byte is kept for the newline. */
struct record {
    char text[LOG_RECORD_BYTES];
    size_t used;
};

void log_set_level(enum log_level level)
{
    atomic_store(&threshold, (int)level);
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

void log_set_hooks(void (*hide)(void *context), void (*show)(void *context), void *context)
{
    pthread_mutex_lock(&mutex);
    hide_hook = hide;
    show_hook = show;
    hook_context = context;
    pthread_mutex_unlock(&mutex);
}

static void add_bytes(struct record *record, const char *bytes, size_t count)
{
    size_t room = sizeof record->text - 1 - record->used;
    count = count < room ? count : room;
    memcpy(record->text + record->used, bytes, count);
    record->used += count;
}

static void add(struct record *record, const char *text)
{
    add_bytes(record, text, strlen(text));
}

/* Bare where nothing in it could be taken for syntax, else in quotes; control characters are
 * escaped, so that one record stays one line whatever a stranger put into a value. */
static void add_value(struct record *record, const char *value)
{
    bool bare = *value != '\0';
    for (const char *at = value; *at; at++)
        bare = bare && (unsigned char)*at > ' ' && *at != '"' && *at != '=' && *at != '\\' &&
               *at != 0x7F;
    if (bare) {
        add(record, value);
        return;
    }
    add(record, "\"");
    for (const char *at = value; *at; at++) {
        char escape[8];
        unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\')
            snprintf(escape, sizeof escape, "\\%c", byte);
        else if (byte == '\n')
            snprintf(escape, sizeof escape, "\\n");
        else if (byte < ' ' || byte == 0x7F)
            snprintf(escape, sizeof escape, "\\x%02x", byte);
        else
            snprintf(escape, sizeof escape, "%c", byte);
        add(record, escape);
    }
    add(record, "\"");
}

static void begin(struct record *record, enum log_level level, const char *module,
                  const char *message)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    struct timespec now;
    struct tm parts;
    char stamp[64];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t length = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(stamp + length, sizeof stamp - length, ".%03ldZ", now.tv_nsec / 1000000);
    record->used = 0;
    add(record, "time=");
    add(record, stamp);
    add(record, " level=");
    add(record, names[level]);
    add(record, " module=");
    add_value(record, module);
    add(record, " msg=");
    add_value(record, message);
}

/* A log that cannot be written is no reason for anything else to fail; errno stays the caller's. */
static void end(struct record *record)
{
    int saved = errno;
    record->text[record->used++] = '\n';
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
    struct record record;
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
    struct record record;
    va_list args;
    if (!log_enabled(level))
        return;
    begin(&record, level, module, message);
    va_start(args, message);
    for (const char *key; (key = va_arg(args, const char *));) {
        const char *value = va_arg(args, const char *);
        if (!value)
            break;
        add(&record, " ");
        add(&record, key);
        add(&record, "=");
        add_value(&record, value);
    }
    va_end(args);
    end(&record);
}
