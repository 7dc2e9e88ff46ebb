#include "base/lines.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)256 << 10)

struct lines {
    struct lines_options options;
    int fd;
    char *path, *chunk;
    size_t at, end; /* what of the chunk is still to come */
    off_t taken;
    size_t number;
    bool whole; /* the line has its newline */
    struct buf line;
};

int lines_open(struct lines **out, const char *path, size_t max_bytes, struct err *err)
{
    *out = NULL;
    if (file_is_directory(path))
        return err_set(err, ERR_INPUT, "%s: is a directory", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_MISSING, "%s: no such file", path);
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open", path);
    *out = lines_open_fd(fd, path, max_bytes);
    return 0;
}

struct lines *lines_open_fd(int fd, const char *name, size_t max_bytes)
{
    return lines_open_with(fd, name, &(struct lines_options){.max_bytes = max_bytes});
}

struct lines *lines_open_with(int fd, const char *name, const struct lines_options *options)
{
    struct lines *lines = mem_alloc(sizeof *lines);
    lines->options = *options;
    lines->fd = fd;
    lines->path = mem_strdup(name);
    lines->chunk = mem_alloc(CHUNK_BYTES);
    lines->number = options->before;
    buf_init(&lines->line, options->max_bytes);
    return lines;
}

void lines_close(struct lines *lines)
{
    if (!lines)
        return;
    if (!lines->options.borrowed)
        close(lines->fd);
    mem_free(lines->path);
    mem_free(lines->chunk);
    buf_deinit(&lines->line);
    mem_free(lines);
}

size_t lines_number(const struct lines *lines)
{
    return lines->number;
}

bool lines_is_whole(const struct lines *lines)
{
    return lines->whole;
}

off_t lines_end(const struct lines *lines)
{
    return lines->taken;
}

const char *lines_path(const struct lines *lines)
{
    return lines->path;
}

/* 1; 0 at the end of the file. */
static int fill(struct lines *lines, struct err *err)
{
    ssize_t got;
    if (lines->options.cancelled && *lines->options.cancelled)
        return err_set(err, ERR_CANCELLED, "cancelled");
    do
        got = read(lines->fd, lines->chunk, CHUNK_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_sys(err, errno, "%s: cannot read", lines->path);
    lines->at = 0;
    lines->end = (size_t)got;
    return got > 0;
}

/* Takes the bytes up to the end of the line, or all that there are; 0 at the end of the file. */
static int take_part(struct lines *lines, bool keep, struct err *err)
{
    int result = lines->at < lines->end ? 1 : fill(lines, err);
    if (result <= 0)
        return result;
    const char *start = lines->chunk + lines->at;
    size_t left = lines->end - lines->at;
    const char *newline = memchr(start, '\n', left);
    size_t count = newline ? (size_t)(newline - start) : left;
    lines->whole = newline != NULL;
    lines->at += count + lines->whole;
    lines->taken += (off_t)(count + lines->whole);
    if (keep)
        buf_append(&lines->line, start, count);
    return 1;
}

static int read_line(struct lines *lines, struct err *err)
{
    int result = 1;
    while (result > 0 && lines->line.cut && !lines->whole) /* the rest of one that was too long */
        result = take_part(lines, false, err);
    buf_reset(&lines->line);
    lines->whole = false;
    lines->number++;
    while (result > 0 && !lines->whole && !lines->line.cut)
        result = take_part(lines, true, err);
    if (lines->line.cut)
        return err_set(err, ERR_LIMIT, "%s:%zu: a line of more than the %zu bytes allowed",
                       lines->path, lines->number, lines->line.max_bytes);
    return result == 0 ? lines->line.len > 0 : result;
}

int lines_next(struct lines *lines, const char **text, size_t *count, struct err *err)
{
    int result;
    do
        result = read_line(lines, err);
    while (result > 0 && strspn(lines->line.data, " \t\r") == lines->line.len);
    *text = lines->line.data;
    *count = lines->line.len;
    return result;
}
