#include "rl/run/lengths.h"

#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"
#include "rl/run/board.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS "events.out.tfevents."

static const char *const line_files[] = {RUN_METRICS, RUN_TRACES};
#define LINE_FILES COUNT(line_files)

/* ---------------------------------------------------------------------------------- event files */

/* `path` is "tensorboard/…" within the run. */
typedef int (*each_events)(void *context, const char *directory, const char *path, struct err *err);

/* Two levels: tensorboard/ and the members of groups below it. */
static int walk(const char *directory, const char *below, bool deeper, each_events each,
                void *context, struct err *err)
{
    char *path = mem_printf("%s/%s", directory, below);
    DIR *entries = opendir(path);
    int result = entries || errno == ENOENT || errno == ENOTDIR
                     ? 0
                     : err_sys(err, errno, "%s: cannot read", path);
    mem_free(path);
    for (struct dirent *entry; result == 0 && entries && (entry = readdir(entries));) {
        char *name = mem_printf("%s/%s", below, entry->d_name);
        if (strncmp(entry->d_name, EVENTS, sizeof EVENTS - 1) == 0)
            result = each(context, directory, name, err);
        else if (deeper && entry->d_name[0] != '.')
            result = walk(directory, name, false, each, context, err);
        mem_free(name);
    }
    if (entries)
        closedir(entries);
    return result;
}

/* ------------------------------------------------------------------------------------ measuring */

static int measure(void *lengths, const char *directory, const char *name, struct err *err)
{
    char *path = mem_printf("%s/%s", directory, name);
    struct stat status = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int result = 0;
    if (fd < 0 ? errno != ENOENT : fstat(fd, &status) < 0 || fdatasync(fd) < 0)
        result = err_sys(err, errno, "%s: cannot write it to the disk", path);
    if (result == 0)
        json_put(lengths, name, json_integer(status.st_size));
    if (fd >= 0)
        close(fd);
    mem_free(path);
    return result;
}

int run_lengths_measure(const char *directory, json_t **out, struct err *err)
{
    json_t *lengths = json_object();
    int result = 0;
    for (size_t i = 0; i < LINE_FILES && result == 0; i++)
        result = measure(lengths, directory, line_files[i], err);
    if (result == 0)
        result = walk(directory, RUN_BOARD, true, measure, lengths, err);
    if (result < 0)
        json_decref(lengths);
    else
        *out = lengths;
    return result;
}

/* -------------------------------------------------------------------------------------- cutting */

static json_int_t wanted_of(const json_t *lengths, const char *name)
{
    return json_integer_value(json_object_get(lengths, name));
}

static bool ends_a_line(int fd, json_int_t length)
{
    char last;
    return length == 0 || (pread(fd, &last, 1, (off_t)length - 1) == 1 && last == '\n');
}

/* Cuts a file of lines, or only looks whether that can be done. */
static int cut_lines(const char *directory, const char *name, json_int_t length, bool cut,
                     struct err *err)
{
    char *path = mem_printf("%s/%s", directory, name);
    struct stat status = {0};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    int result = 0;
    if (fd < 0 && (errno != ENOENT || length > 0))
        result = err_sys(err, errno, "%s: cannot open, and a checkpoint counts on it", path);
    else if (fd >= 0 && fstat(fd, &status) < 0)
        result = err_sys(err, errno, "%s", path);
    else if (fd >= 0 && (status.st_size < length || !ends_a_line(fd, length)))
        result = err_set(err, ERR_INPUT,
                         "%s: the last checkpoint was made when it had %lld bytes of whole lines, "
                         "and now it is another file; put it back, or name another directory",
                         path, (long long)length);
    else if (fd >= 0 && cut && ftruncate(fd, (off_t)length) < 0)
        result = err_sys(err, errno, "%s: cannot cut it to the checkpoint", path);
    if (fd >= 0)
        close(fd);
    mem_free(path);
    return result;
}

static int cut_events(void *lengths, const char *directory, const char *name, struct err *err)
{
    char *path = mem_printf("%s/%s", directory, name);
    const json_t *length = json_object_get(lengths, name);
    struct stat status;
    int result = 0;
    if (!length && unlink(path) < 0)
        result = err_sys(err, errno, "%s: cannot remove", path);
    else if (length && stat(path, &status) == 0 && status.st_size > json_integer_value(length) &&
             truncate(path, (off_t)json_integer_value(length)) < 0)
        result = err_sys(err, errno, "%s: cannot cut it to the checkpoint", path);
    mem_free(path);
    return result;
}

int run_lengths_cut(const char *directory, const json_t *lengths, struct err *err)
{
    int result = 0;
    for (int cut = 0; cut < 2; cut++)
        for (size_t i = 0; i < LINE_FILES && result == 0; i++)
            result = cut_lines(directory, line_files[i], wanted_of(lengths, line_files[i]), cut,
                               err);
    if (result == 0)
        result = walk(directory, RUN_BOARD, true, cut_events, (void *)lengths, err);
    return result;
}

off_t run_tail(int fd, off_t size, size_t tail_bytes)
{
    char byte = 0;
    if (tail_bytes >= (size_t)size)
        return 0;
    off_t at = size - (off_t)tail_bytes;
    while (byte != '\n' && pread(fd, &byte, 1, at) == 1)
        at++;
    return at;
}
