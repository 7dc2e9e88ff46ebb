#include "policy/untar.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCK ((size_t)512)
#define PIECE ((size_t)64 << 10)
#define WINDOW_GZIP (15 + 16) /* zlib: the largest window, and gzip's header */

/* Places and sizes within a header. */
enum { NAME = 0, NAME_BYTES = 100, SIZE = 124, SIZE_BYTES = 12, SUM = 148, SUM_BYTES = 8 };
enum { KIND = 156 };

struct untar {
    char *directory;
    uint64_t bytes_left, files_left;
    z_stream zlib;
    bool begun, gzip, gzip_ended;

    unsigned char block[BLOCK]; /* an incomplete header */
    size_t held;
    uint64_t left, padding; /* of the entry in progress */
    int fd;                 /* -1: it is skipped */
    char *path;
    bool ended; /* an empty header */
};

int untar_open(struct untar **out, const struct untar_options *options, struct err *err)
{
    struct untar *untar = mem_alloc(sizeof *untar);
    *untar = (struct untar){.directory = mem_strdup(options->directory),
                            .bytes_left = options->max_bytes,
                            .files_left = options->max_files,
                            .fd = -1};
    *out = untar;
    if (inflateInit2(&untar->zlib, WINDOW_GZIP) == Z_OK)
        return 0;
    *out = NULL;
    mem_free(untar->directory);
    mem_free(untar);
    return err_set(err, ERR_INTERNAL, "cannot start zlib");
}

static int refuse(const char *why, struct err *err)
{
    return err_set(err, ERR_INPUT, "the archive %s", why);
}

/* -1: not an octal number. */
static int64_t octal(const unsigned char *text, size_t count)
{
    int64_t value = 0;
    size_t i = 0;
    while (i < count && text[i] == ' ')
        i++;
    size_t begin = i;
    for (; i < count && text[i] >= '0' && text[i] <= '7'; i++)
        value = value * 8 + (text[i] - '0');
    return i > begin && (i == count || text[i] == ' ' || text[i] == '\0') ? value : -1;
}

/* The sum of the bytes, its own place as spaces. */
static bool has_sum(const unsigned char *block)
{
    int64_t sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= SUM && i < SUM + SUM_BYTES ? ' ' : block[i];
    return octal(block + SUM, SUM_BYTES) == sum;
}

static bool is_empty(const unsigned char *block)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (block[i] != 0)
            return false;
    return true;
}

static int create_file(struct untar *untar, uint64_t bytes, struct err *err)
{
    char *name = mem_printf("%.*s", NAME_BYTES, (const char *)untar->block + NAME);
    const char *last = file_basename(name);
    int result = 0;
    if (!last[0] || last[0] == '.')
        result = refuse("has a file without a plain name", err);
    else if (untar->files_left == 0 || bytes > untar->bytes_left)
        result = err_set(err, ERR_LIMIT, "the archive holds more than is allowed");
    if (result == 0) {
        untar->files_left--;
        untar->bytes_left -= bytes;
        untar->path = mem_printf("%s/%s", untar->directory, last);
        untar->fd = open(untar->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (untar->fd < 0)
            result = errno == EEXIST ? refuse("has two files of one name", err)
                                     : err_sys(err, errno, "cannot write %s", untar->path);
    }
    mem_free(name);
    return result;
}

static int end_file(struct untar *untar, struct err *err)
{
    int result = 0;
    if (untar->fd >= 0 && fsync(untar->fd) < 0)
        result = err_sys(err, errno, "cannot write %s", untar->path);
    if (untar->fd >= 0)
        close(untar->fd);
    untar->fd = -1;
    mem_free(untar->path);
    untar->path = NULL;
    return result;
}

/* Directories ('5'), and the metadata of pax and GNU tar. */
static bool is_skipped(char kind)
{
    return kind && strchr("5xgLK", kind);
}

static int begin_entry(struct untar *untar, struct err *err)
{
    const int64_t size = octal(untar->block + SIZE, SIZE_BYTES);
    const char kind = (char)untar->block[KIND];
    untar->held = 0;
    if (is_empty(untar->block)) {
        untar->ended = true;
        return 0;
    }
    if (size < 0 || !has_sum(untar->block))
        return refuse("is no tar archive, or damaged", err);
    untar->left = (uint64_t)size;
    untar->padding = (BLOCK - (uint64_t)size % BLOCK) % BLOCK;
    if (is_skipped(kind))
        return 0;
    if (kind != '0' && kind != '\0')
        return refuse("has a link or a device", err);
    int result = create_file(untar, untar->left, err);
    return result == 0 && untar->left == 0 ? end_file(untar, err) : result;
}

static size_t least(uint64_t one, size_t other)
{
    return one < other ? (size_t)one : other;
}

/* Bytes of the archive itself. */
static int take_bytes(struct untar *untar, const unsigned char *bytes, size_t count,
                      struct err *err)
{
    int result = 0;
    while (count > 0 && result == 0 && !untar->ended) {
        size_t taken;
        if (untar->left > 0) {
            taken = least(untar->left, count);
            if (untar->fd >= 0)
                result = file_write_fd(untar->fd, untar->path, bytes, taken, err);
            untar->left -= taken;
            if (result == 0 && untar->left == 0)
                result = end_file(untar, err);
        } else if (untar->padding > 0) {
            taken = least(untar->padding, count);
            untar->padding -= taken;
        } else {
            taken = least(BLOCK - untar->held, count);
            memcpy(untar->block + untar->held, bytes, taken);
            untar->held += taken;
            if (untar->held == BLOCK)
                result = begin_entry(untar, err);
        }
        bytes += taken;
        count -= taken;
    }
    return result;
}

static int take_compressed(struct untar *untar, const void *bytes, size_t count, struct err *err)
{
    unsigned char piece[PIECE];
    z_stream *zlib = &untar->zlib;
    zlib->next_in = (unsigned char *)bytes;
    zlib->avail_in = (uInt)count;
    int result = 0;
    while (result == 0 && zlib->avail_in > 0 && !untar->gzip_ended && !untar->ended) {
        zlib->next_out = piece;
        zlib->avail_out = sizeof piece;
        int code = inflate(zlib, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END)
            return refuse("is damaged: its compression is not valid", err);
        untar->gzip_ended = code == Z_STREAM_END;
        result = take_bytes(untar, piece, sizeof piece - zlib->avail_out, err);
    }
    return result;
}

int untar_write(struct untar *untar, const void *bytes, size_t count, struct err *err)
{
    const unsigned char *at = bytes;
    int result = 0;
    if (!untar->begun && count > 0) {
        untar->begun = true;
        untar->gzip = at[0] == 0x1f; /* no name begins with it */
    }
    for (size_t done = 0; done < count && result == 0; done += PIECE) {
        const size_t piece = least(count - done, PIECE);
        result = untar->gzip ? take_compressed(untar, at + done, piece, err)
                             : take_bytes(untar, at + done, piece, err);
    }
    return result;
}

int untar_close(struct untar *untar, int result, struct err *err)
{
    if (!untar)
        return result;
    if (result == 0 && !untar->ended)
        result = refuse("ends too early", err);
    if (untar->fd >= 0)
        close(untar->fd);
    inflateEnd(&untar->zlib);
    mem_free(untar->path);
    mem_free(untar->directory);
    mem_free(untar);
    return result;
}
