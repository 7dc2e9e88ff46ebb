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
static _Atomic int record_format = LOG_FORMAT_TEXT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = STDERR_FILENO;
static void (*hide_hook)(void *context);
static void (*show_hook)(void *context);
static void *hook_context;

/* A record under way; the last bytes are kept for what ends it. */
struct record {
    char text[LOG_RECORD_BYTES];
    size_t used;
    bool json;
    bool full; /* a field did not fit: it and all behind it are left out (JSON) */
};

void log_set_level(enum log_level level)
{
    atomic_store(&threshold, (int)level);
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load(&threshold);
}

void log_set_format(enum log_format format)
{
    atomic_store(&record_format, (int)format);
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

/* Where the newline, and before it the brace, still fit. */
static size_t most(const struct record *record)
{
    return sizeof record->text - (record->json ? 2 : 1);
}

static void add_bytes(struct record *record, const char *bytes, size_t count)
{
    size_t room = most(record) - record->used;
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
static void add_bare(struct record *record, const char *value)
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

/* The length of the UTF-8 sequence at `at`; 0 where there is none. */
static size_t sequence(const char *at)
{
    const unsigned char *byte = (const unsigned char *)at;
    size_t length = byte[0] < 0x80                      ? 1
                    : byte[0] >= 0xC2 && byte[0] < 0xE0 ? 2
                    : byte[0] >= 0xE0 && byte[0] < 0xF0 ? 3
                    : byte[0] >= 0xF0 && byte[0] < 0xF5 ? 4
                                                        : 0;
    for (size_t i = 1; i < length; i++)
        if ((byte[i] & 0xC0) != 0x80)
            return 0;
    if ((byte[0] == 0xE0 && byte[1] < 0xA0) || (byte[0] == 0xED && byte[1] > 0x9F) ||
        (byte[0] == 0xF0 && byte[1] < 0x90) || (byte[0] == 0xF4 && byte[1] > 0x8F))
        return 0;
    return length;
}

static void add_json(struct record *record, const char *text)
{
    add(record, "\"");
    while (*text) {
        char escape[8];
        size_t length = sequence(text);
        unsigned char byte = (unsigned char)*text;
        if (length == 0)
            add(record, "\\ufffd");
        else if (byte == '"' || byte == '\\') {
            snprintf(escape, sizeof escape, "\\%c", byte);
            add(record, escape);
        } else if (byte < ' ' || byte == 0x7F) {
            snprintf(escape, sizeof escape, "\\u%04x", byte);
            add(record, escape);
        } else
            add_bytes(record, text, length);
        text += length ? length : 1;
    }
    add(record, "\"");
}

/* What does not fit is left out where half of it would spoil the line. */
static void add_field(struct record *record, const char *key, const char *value)
{
    size_t before = record->used;
    if (!record->json) {
        add(record, before ? " " : "");
        add(record, key);
        add(record, "=");
        add_bare(record, value);
        return;
    }
    if (record->full)
        return;
    add(record, before ? "," : "{");
    add_json(record, key);
    add(record, ":");
    add_json(record, value);
    record->full = record->used == most(record);
    if (record->full)
        record->used = before;
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
    record->full = false;
    record->json = atomic_load(&record_format) == LOG_FORMAT_JSON;
    add_field(record, "time", stamp);
    add_field(record, "level", names[level]);
    add_field(record, "module", module);
    add_field(record, "msg", message);
}

/* A log that cannot be written is no reason for anything else to fail; errno stays the caller's. */
static void end(struct record *record)
{
    int saved = errno;
    if (record->json)
        record->text[record->used++] = '}';
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
        add_field(&record, key, value);
    }
    va_end(args);
    end(&record);
}
