#include "gym/episode/journal.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct reading {
    journal_line read; /* NULL: lines are not parsed */
    void *context;
};

static int read_line(const struct reading *reading, const struct lines *lines, const char *text,
                     size_t count, struct err *err)
{
    json_t *object = NULL;
    if (!reading->read)
        return 0;
    int result = json_parse_line(lines_path(lines), lines_number(lines), text, count, &object, err);
    if (result == 0 && !json_is_object(object))
        result = err_set(err, ERR_INPUT, "%s:%zu: not a JSON object", lines_path(lines),
                         lines_number(lines));
    if (result == 0)
        result = reading->read(reading->context, object, err);
    json_decref(object);
    return result;
}

/* Reads the lines and truncates the file after the last complete one. */
static int read_all(struct journal *journal, const struct reading *reading, struct err *err)
{
    /* To close a second descriptor of the file would unlock it. */
    const struct lines_options options = {.max_bytes = LIMIT_JOURNAL_LINE_BYTES, .borrowed = true};
    struct lines *lines = lines_open_with(journal->fd, journal->path, &options);
    const char *text;
    size_t count;
    off_t whole = 0;
    int result;
    while ((result = lines_next(lines, &text, &count, err)) > 0 && lines_is_whole(lines)) {
        whole = lines_end(lines);
        result = read_line(reading, lines, text, count, err);
        if (result < 0)
            break;
    }
    if (result > 0 && ftruncate(journal->fd, whole) < 0)
        result = err_sys(err, errno, "cannot truncate %s to its last complete line", journal->path);
    lines_close(lines);
    return result < 0 ? result : 0;
}

int journal_append(struct journal *journal, json_t *object, struct err *err)
{
    struct buf text;
    buf_init(&text, LIMIT_JOURNAL_LINE_BYTES);
    int result = json_line_write(object, &text, err);
    json_decref(object);
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
    const struct reading reading = {read, context};
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
