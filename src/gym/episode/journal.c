#include "gym/episode/journal.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES ((size_t)1 << 16)

struct reading {
    const char *path;
    journal_line read;
    void *context;
    char *line; /* the start of a line */
    size_t held, capacity;
    size_t number; /* of that line, from 1 */
    off_t whole;   /* end of the last complete line */
};

static int read_line(struct reading *reading, struct err *err)
{
    json_t *object = NULL;
    int result = json_parse_line(reading->path, reading->number, reading->line, reading->held,
                                 &object, err);
    if (result == 0 && !json_is_object(object))
        result = err_set(err, ERR_INPUT, "%s:%zu: not a JSON object", reading->path,
                         reading->number);
    if (result == 0)
        result = reading->read(reading->context, object, err);
    json_decref(object);
    return result;
}

static int check_object(struct reading *reading, const char *bytes, size_t count, struct err *err)
{
    if (reading->held + count > LIMIT_JOURNAL_LINE_BYTES)
        return err_set(err, ERR_LIMIT, "%s:%zu: a line of more than %zu bytes", reading->path,
                       reading->number, LIMIT_JOURNAL_LINE_BYTES);
    if (reading->held + count > reading->capacity) {
        reading->capacity = 2 * (reading->held + count);
        reading->line = mem_resize(reading->line, reading->capacity);
    }
    if (count > 0)
        memcpy(reading->line + reading->held, bytes, count);
    reading->held += count;
    return 0;
}

static int take_line(struct reading *reading, const char *bytes, size_t count, struct err *err)
{
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t part = end ? (size_t)(end - bytes) : count;
        int result = check_object(reading, bytes, part, err);
        if (result < 0 || !end)
            return result;
        result = reading->read ? read_line(reading, err) : 0;
        if (result < 0)
            return result;
        reading->whole += (off_t)reading->held + 1;
        reading->held = 0;
        reading->number++;
        bytes = end + 1;
        count -= part + 1;
    }
    return 0;
}

/* Reads the lines and truncates the file after the last complete one. */
static int read_all(struct journal *journal, struct reading *reading, struct err *err)
{
    char *bytes = mem_alloc(READ_BYTES);
    ssize_t got = 0;
    int result = 0;
    while (result == 0 && (got = read(journal->fd, bytes, READ_BYTES)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        result = got < 0 ? err_sys(err, errno, "cannot read %s", journal->path)
                         : take_line(reading, bytes, (size_t)got, err);
    }
    mem_free(bytes);
    if (result == 0 && reading->held > 0 && ftruncate(journal->fd, reading->whole) < 0)
        result = err_sys(err, errno, "cannot truncate %s to its last complete line", journal->path);
    return result;
}

int journal_append(struct journal *journal, const json_t *object, struct err *err)
{
    struct buf text;
    buf_init(&text, LIMIT_JOURNAL_LINE_BYTES);
    int result = json_line_write(object, &text, err);
    if (result < 0) {
        buf_deinit(&text);
        return err_prefix(err, "%s", journal->path);
    }
    pthread_mutex_lock(&journal->lock);
    off_t before = lseek(journal->fd, 0, SEEK_END);
    size_t done = 0;
    while (done < text.len && result == 0) {
        ssize_t put = write(journal->fd, text.data + done, text.len - done);
        if (put > 0)
            done += (size_t)put;
        else if (errno != EINTR)
            result = err_sys(err, errno, "cannot write %s", journal->path);
    }
    if (result == 0 && journal->durable && fdatasync(journal->fd) < 0)
        result = err_sys(err, errno, "cannot write %s", journal->path);
    /* An incomplete line would corrupt the next one. */
    if (result < 0 && before >= 0 && ftruncate(journal->fd, before) < 0)
        err_prefix(err, "and the incomplete line stays");
    pthread_mutex_unlock(&journal->lock);
    buf_deinit(&text);
    return result;
}

/* A lock of this process only: a child that outlives it does not hold the lock. */
static int lock_journal(struct journal *journal, struct err *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(journal->fd, F_SETLK, &whole) == 0)
        return 0;
    if (errno != EACCES && errno != EAGAIN)
        return err_sys(err, errno, "cannot lock %s", journal->path);
    return err_set(err, ERR_IO,
                   "%s is being written by another process; wait for it, or name another directory",
                   journal->path);
}

int journal_open(struct journal *journal, const char *path, bool durable, journal_line read,
                 void *context, struct err *err)
{
    struct reading reading = {.path = path, .read = read, .context = context, .number = 1};
    *journal = (struct journal){.durable = durable, .path = mem_strdup(path)};
    pthread_mutex_init(&journal->lock, NULL);
    journal->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int result = 0;
    if (journal->fd < 0)
        result = err_sys(err, errno, "cannot open %s", path);
    else
        result = lock_journal(journal, err);
    if (result == 0)
        result = read_all(journal, &reading, err);
    mem_free(reading.line);
    if (result < 0)
        journal_close(journal);
    return result;
}

void journal_close(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    mem_free(journal->path);
    pthread_mutex_destroy(&journal->lock);
}
