#include "base/log.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The line of one record, as text (logfmt) or as JSON. For every value, also a hostile one, it
 * stays one line, and in JSON one object of valid UTF-8. What does not fit is cut: first the value
 * that is too long, then all fields behind it. */
struct log_record {
    enum log_format format;
    char text[LOG_RECORD_BYTES];
    size_t used;
    bool full;
};

#define CAPACITY (LOG_RECORD_BYTES - 3) /* reserves the end: "}\n */

/* A closing quote may use the reserved bytes. */
static size_t capacity(const struct log_record *record)
{
    return record->full || record->used >= CAPACITY ? 0 : CAPACITY - record->used;
}

/* Appends all bytes or none; after the first overflow, none. */
static void add_bytes(struct log_record *record, const char *bytes, size_t count)
{
    record->full = record->full || count > capacity(record);
    if (record->full)
        return;
    memcpy(record->text + record->used, bytes, count);
    record->used += count;
}

static void add(struct log_record *record, const char *text)
{
    add_bytes(record, text, strlen(text));
}

/* One character of a quoted value; returns how many bytes of `at` it was. */
static size_t add_character(struct log_record *record, const char *at, size_t left)
{
    char escape[8];
    bool json = record->format == LOG_FORMAT_JSON;
    unsigned char byte = (unsigned char)*at;
    if (byte == '"' || byte == '\\')
        snprintf(escape, sizeof escape, "\\%c", byte);
    else if (byte == '\n')
        snprintf(escape, sizeof escape, "\\n");
    else if (byte < ' ' || byte == 0x7F)
        snprintf(escape, sizeof escape, json ? "\\u%04x" : "\\x%02x", byte);
    else {
        size_t length = utf8_sequence(at, left);
        if (length == 0)
            add(record, UTF8_REPLACEMENT);
        else
            add_bytes(record, at, length);
        return length ? length : 1;
    }
    add(record, escape);
    return 1;
}

/* A text value stays bare where nothing in it could be taken for syntax. */
static bool is_bare(const struct log_record *record, const char *value)
{
    if (record->format == LOG_FORMAT_JSON || *value == '\0')
        return false;
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at <= ' ' || strchr("\"=\\", *at) || (unsigned char)*at >= 0x7F)
            return false;
    return true;
}

static void add_value(struct log_record *record, const char *value)
{
    if (is_bare(record, value)) {
        size_t length = strlen(value), most = capacity(record);
        add_bytes(record, value, length < most ? length : most);
        record->full = length > most;
        return;
    }
    add(record, "\"");
    for (size_t left = strlen(value); left > 0 && !record->full;) {
        size_t length = add_character(record, value, left);
        value += length;
        left -= length;
    }
    record->text[record->used++] = '"'; /* the reserved bytes have space for it */
}

static void log_record_init(struct log_record *record, enum log_format format)
{
    record->format = format;
    record->used = 0;
    record->full = false;
    if (format == LOG_FORMAT_JSON)
        add(record, "{");
}

static void log_record_field(struct log_record *record, const char *key, const char *value)
{
    bool json = record->format == LOG_FORMAT_JSON;
    bool first = record->used == (json ? 1 : 0);
    char start[80];
    int length = snprintf(start, sizeof start,
                          json ? "%s\"%s\":" : "%s%s=", first ? "" : (json ? "," : " "), key);
    /* Writes the key with an opening quote, or nothing. */
    if ((size_t)length >= sizeof start || (size_t)length + 2 > capacity(record)) {
        record->full = true;
        return;
    }
    add(record, start);
    add_value(record, value);
}

static void log_record_end(struct log_record *record)
{
    if (record->format == LOG_FORMAT_JSON)
        record->text[record->used++] = '}';
    record->text[record->used++] = '\n';
}

static _Atomic int threshold = LOG_LEVEL_WARN;
static _Atomic int record_format = LOG_FORMAT_TEXT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = STDERR_FILENO;
static void (*hide_hook)(void *context);
static void (*show_hook)(void *context);
static void *hook_context;

static _Thread_local const char *job;

static const char *const level_names[] = {WORD_NAMES(LOG_LEVELS)};

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
    log_record_field(record, "level", level_names[level]);
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
