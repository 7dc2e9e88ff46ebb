#include "base/file.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int file_read_fd(int fd, const char *name, size_t max_bytes, char **bytes, size_t *count,
                 struct err *err)
{
    struct stat stat_buffer;
    if (fstat(fd, &stat_buffer) < 0)
        return err_sys(err, errno, "%s: cannot read", name);
    if (S_ISDIR(stat_buffer.st_mode))
        return err_set(err, ERR_INPUT, "%s: is a directory, not a file", name);
    if (S_ISREG(stat_buffer.st_mode) && (uint64_t)stat_buffer.st_size > max_bytes)
        return err_set(err, ERR_LIMIT, "%s: %lld bytes, more than the %zu allowed", name,
                       (long long)stat_buffer.st_size, max_bytes);
    size_t capacity = S_ISREG(stat_buffer.st_mode) ? (size_t)stat_buffer.st_size + 2 : 4096;
    size_t used = 0;
    char *data = mem_alloc(capacity);
    for (;;) {
        if (used + 1 >= capacity) {
            capacity *= 2;
            data = mem_resize(data, capacity);
        }
        ssize_t got = read(fd, data + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int saved = errno;
            mem_free(data);
            return err_sys(err, saved, "%s: cannot read", name);
        }
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > max_bytes) {
            mem_free(data);
            return err_set(err, ERR_LIMIT, "%s: more than the %zu bytes allowed", name, max_bytes);
        }
    }
    data[used] = '\0';
    *bytes = data;
    *count = used;
    return 0;
}

void file_read_text(const char *path, char *text, size_t text_bytes)
{
    size_t count = 0;
    ssize_t got = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && got > 0 && count < text_bytes - 1) {
        got = read(fd, text + count, text_bytes - 1 - count);
        count += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    text[count] = '\0';
}

int file_read(const char *path, size_t max_bytes, char **bytes, size_t *count, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_MISSING, "%s: no such file", path);
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open", path);
    int result = file_read_fd(fd, path, max_bytes, bytes, count, err);
    close(fd);
    return result;
}

int file_write_fd(int fd, const char *name, const void *bytes, size_t count, struct err *err)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = write(fd, at, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return err_sys(err, errno, "%s: cannot write", name);
        at += written;
        count -= (size_t)written;
    }
    return 0;
}

int file_new_open(struct file_new *file, const char *path, struct err *err)
{
    *file = (struct file_new){.path = path, .temporary = mem_printf("%s.XXXXXX", path)};
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd >= 0)
        return 0;
    int result = err_sys(err, errno, "%s: cannot create", path);
    mem_free(file->temporary);
    return result;
}

int file_new_end(struct file_new *file, int result, mode_t mode, struct err *err)
{
    if (result == 0 && fchmod(file->fd, mode) < 0)
        result = err_sys(err, errno, "%s: cannot set its mode", file->path);
    if (close(file->fd) < 0 && result == 0)
        result = err_sys(err, errno, "%s: cannot write", file->path);
    if (result == 0 && rename(file->temporary, file->path) < 0)
        result = err_sys(err, errno, "%s: cannot replace", file->path);
    if (result < 0)
        unlink(file->temporary);
    mem_free(file->temporary);
    return result;
}

int file_write_atomic(const char *path, const void *bytes, size_t count, mode_t mode,
                      struct err *err)
{
    struct file_new file;
    int result = file_new_open(&file, path, err);
    if (result < 0)
        return result;
    return file_new_end(&file, file_write_fd(file.fd, path, bytes, count, err), mode, err);
}

int file_make_directories(const char *path, mode_t mode, struct err *err)
{
    char *copy = mem_strdup(path);
    int result = 0;
    for (char *slash = copy + 1;; slash++) {
        if (*slash != '/' && *slash != '\0')
            continue;
        bool last = *slash == '\0';
        *slash = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST) {
            result = err_sys(err, errno, "%s: cannot create the directory", copy);
            break;
        }
        if (last)
            break;
        *slash = '/';
    }
    if (result == 0 && !file_is_directory(path))
        result = err_set(err, ERR_IO, "%s: is not a directory", path);
    mem_free(copy);
    return result;
}

static void remove_at(int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || depth > 64)
        return;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_at(fd, entry->d_name, depth + 1);
    closedir(directory);
    unlinkat(parent, name, AT_REMOVEDIR);
}

uint64_t file_tree_bytes(const char *path)
{
    char *const paths[] = {(char *)path, NULL};
    uint64_t bytes = 0;
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info != FTS_DP && entry->fts_info != FTS_NS)
            bytes += (uint64_t)entry->fts_statp->st_blocks * 512;
    if (tree)
        fts_close(tree);
    return bytes;
}

void file_remove_tree(const char *path)
{
    remove_at(AT_FDCWD, path, 0);
}

char *file_plain(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return mem_printf("%.*s", (int)length, path);
}

char *file_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/") : mem_printf("%.*s", (int)(slash - path), path);
}

const char *file_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *file_from(const char *directory, const char *path)
{
    return path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", directory, path);
}

static int sync_at(int directory, const char *name, int flags)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (fd < 0)
        return -errno;
    int result = fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
    close(fd);
    return result;
}

int file_sync_directory(const char *path, struct err *err)
{
    int failure = sync_at(AT_FDCWD, path, O_DIRECTORY);
    return failure < 0 ? err_sys(err, -failure, "%s: cannot write it to the disk", path) : 0;
}

int file_sync_files(const char *path, struct err *err)
{
    DIR *directory = opendir(path);
    if (!directory)
        return err_sys(err, errno, "%s: cannot open the directory", path);
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, "..") == 0)
            continue;
        int failure = sync_at(dirfd(directory), entry->d_name, O_NOFOLLOW);
        if (failure < 0)
            result = err_sys(err, -failure, "%s/%s: cannot write it to the disk", path,
                             entry->d_name);
    }
    closedir(directory);
    return result;
}

int file_sync_parent(const char *path, struct err *err)
{
    char *parent = file_parent(path);
    int result = file_sync_directory(parent, err);
    mem_free(parent);
    return result;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_directory(const char *path)
{
    struct stat stat_buffer;
    return stat(path, &stat_buffer) == 0 && S_ISDIR(stat_buffer.st_mode);
}

bool file_same(const char *path, const char *other)
{
    struct stat one;
    struct stat two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && S_ISREG(one.st_mode) &&
           one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

int file_check_text(const char *name, const char *bytes, size_t count, struct err *err)
{
    if (count == 0)
        return err_set(err, ERR_INPUT, "%s: is empty", name);
    size_t line = 1;
    bool blank = true;
    for (size_t i = 0; i < count;) {
        if (bytes[i] == '\0')
            return err_set(err, ERR_INPUT, "%s:%zu: holds a NUL byte; a source is text", name,
                           line);
        size_t length = utf8_sequence(bytes + i, count - i);
        if (length == 0)
            return err_set(err, ERR_INPUT, "%s:%zu: is not UTF-8 (byte 0x%02x at offset %zu)", name,
                           line, (unsigned char)bytes[i], i);
        if (bytes[i] == '\n')
            line++;
        blank = blank && strchr(" \t\r\n", bytes[i]) != NULL;
        i += length;
    }
    if (blank)
        return err_set(err, ERR_INPUT, "%s: holds nothing but white space", name);
    return 0;
}

static int fill_mapped(int fd, const char *name, size_t count, file_filler *fill,
                       const void *context, struct err *err)
{
    if (count == 0)
        return 0;
    void *into = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (into == MAP_FAILED)
        return err_sys(err, errno, "cannot map %zu bytes of '%s'", count, name);
    int result = fill(context, into, count, err);
    munmap(into, count);
    return result;
}

/* `context`: what `fill` takes; without it, the bytes themselves; NULL: zeros. */
static int file_memory_sealed(const char *name, size_t size_bytes, file_filler *fill,
                              const void *context, int seals, struct err *err)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return err_sys(err, errno, "cannot create anonymous memory '%s'", name);
    int result = 0;
    if (ftruncate(fd, (off_t)size_bytes) < 0)
        result = err_sys(err, errno, "cannot size anonymous memory '%s' to %zu bytes", name,
                         size_bytes);
    if (result == 0 && fill)
        result = fill_mapped(fd, name, size_bytes, fill, context, err);
    else if (result == 0 && context)
        result = file_write_fd(fd, name, context, size_bytes, err);
    if (result == 0 && lseek(fd, 0, SEEK_SET) < 0)
        result = err_sys(err, errno, "cannot rewind anonymous memory '%s'", name);
    if (result == 0 && fcntl(fd, F_ADD_SEALS, seals) < 0)
        result = err_sys(err, errno, "cannot seal anonymous memory '%s'", name);
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}

int file_memory(const char *name, size_t size_bytes, struct err *err)
{
    return file_memory_sealed(name, size_bytes, NULL, NULL,
                              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, err);
}

int file_memory_filled(const char *name, size_t count, file_filler *fill, const void *context,
                       struct err *err)
{
    return file_memory_sealed(name, count, fill, context,
                              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL, err);
}

int file_memory_from(const char *name, const void *bytes, size_t count, struct err *err)
{
    return file_memory_filled(name, count, NULL, bytes, err);
}
