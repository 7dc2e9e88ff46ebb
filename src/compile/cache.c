#include "compile/cache.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* "warpgym-build 1 ok <object bytes> <diagnostics bytes> <SHA-256>\n", numbers as 16 hex digits. */
#define FOOTER_FORMAT "warpgym-build 1 %s %016llx %016llx "
#define FOOTER_OUTCOME_AT 16
#define FOOTER_OBJECT_AT 19
#define FOOTER_DIAGNOSTICS_AT 36
#define FOOTER_HEAD_BYTES 53
#define FOOTER_BYTES (FOOTER_HEAD_BYTES + 64 + 1)
#define CHUNK_BYTES 65536
#define TOUCH_INTERVAL_S 60

static char *entry_path(const char *directory, const char *key)
{
    return mem_printf("%s/%.2s/%s", directory, key, key + 2);
}

static void footer_head(char head[FOOTER_HEAD_BYTES + 1], bool ok, uint64_t object_bytes,
                        uint64_t diagnostics_bytes)
{
    snprintf(head, FOOTER_HEAD_BYTES + 1, FOOTER_FORMAT, ok ? "ok" : "no",
             (unsigned long long)object_bytes, (unsigned long long)diagnostics_bytes);
}

static struct hash *begin_digest(const char *key, const char *head)
{
    struct hash *hash = hash_new();
    hash_update_string(hash, key);
    hash_update_string(hash, head);
    return hash;
}

static bool read_exactly(int fd, void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t got = read(fd, at, count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        count -= (size_t)got;
    }
    return true;
}

static bool hash_object(int fd, uint64_t object_bytes, struct hash *hash)
{
    char chunk[CHUNK_BYTES];
    while (object_bytes > 0) {
        size_t count = object_bytes < sizeof chunk ? (size_t)object_bytes : sizeof chunk;
        if (!read_exactly(fd, chunk, count))
            return false;
        hash_update(hash, chunk, count);
        object_bytes -= count;
    }
    return true;
}

/* Reads the lengths that a footer claims; false where it is not exactly what footer_head writes. */
static bool parse_footer(const char *footer, off_t size, bool *ok, uint64_t *object_bytes,
                         uint64_t *diagnostics_bytes)
{
    char head[FOOTER_HEAD_BYTES + 1];
    uint64_t object = strtoull(footer + FOOTER_OBJECT_AT, NULL, 16);
    uint64_t diagnostics = strtoull(footer + FOOTER_DIAGNOSTICS_AT, NULL, 16);
    *ok = memcmp(footer + FOOTER_OUTCOME_AT, "ok", 2) == 0;
    footer_head(head, *ok, object, diagnostics);
    if (memcmp(footer, head, FOOTER_HEAD_BYTES) != 0 || object > LIMIT_ARTIFACT_BYTES ||
        diagnostics > LIMIT_DIAGNOSTICS_BYTES || (object > 0) != *ok ||
        (uint64_t)size != object + diagnostics + FOOTER_BYTES)
        return false;
    *object_bytes = object;
    *diagnostics_bytes = diagnostics;
    return true;
}

/* Reads and verifies the entry open at `fd`; fills ok and diagnostics. */
static bool read_entry(int fd, off_t size, const char *key, struct cache_entry *entry)
{
    char footer[FOOTER_BYTES + 1];
    char digest[HASH_HEX_BYTES];
    uint64_t object_bytes;
    uint64_t diagnostics_bytes;
    if (size < FOOTER_BYTES || pread(fd, footer, FOOTER_BYTES, size - FOOTER_BYTES) != FOOTER_BYTES)
        return false;
    footer[FOOTER_BYTES] = '\0';
    if (!parse_footer(footer, size, &entry->ok, &object_bytes, &diagnostics_bytes))
        return false;
    char *diagnostics = mem_alloc((size_t)diagnostics_bytes + 1);
    footer[FOOTER_BYTES - 1] = '\0';
    const char *expected = footer + FOOTER_HEAD_BYTES;
    char head[FOOTER_HEAD_BYTES + 1];
    footer_head(head, entry->ok, object_bytes, diagnostics_bytes);
    struct hash *hash = begin_digest(key, head);
    bool sound = hash_object(fd, object_bytes, hash) &&
                 read_exactly(fd, diagnostics, (size_t)diagnostics_bytes);
    hash_update(hash, diagnostics, (size_t)diagnostics_bytes);
    hash_finish(hash, digest);
    sound = sound && strcmp(digest, expected) == 0;
    entry->object_bytes = object_bytes;
    if (sound)
        entry->diagnostics = diagnostics;
    else
        mem_free(diagnostics);
    return sound;
}

static void mark_used(int fd, const struct stat *facts)
{
    if (time(NULL) - facts->st_mtim.tv_sec > TOUCH_INTERVAL_S)
        (void)!futimens(fd, NULL); /* a read-only cache is swept by its owner */
}

bool cache_get(const char *directory, const char key[HASH_HEX_BYTES], struct cache_entry *entry)
{
    struct stat facts;
    *entry = (struct cache_entry){0};
    char *path = entry_path(directory, key);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    /* Another owner could change the file between this check and its use. */
    bool found = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
                 (facts.st_uid == geteuid() || facts.st_uid == 0) &&
                 read_entry(fd, facts.st_size, key, entry);
    if (found) {
        mark_used(fd, &facts);
        entry->path = path;
    } else {
        mem_free(path);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* Copies the object from its start to `to`, adding it to the digest. */
static int copy_object(int from, int to, const char *name, uint64_t object_bytes, struct hash *hash,
                       struct err *err)
{
    char chunk[CHUNK_BYTES];
    if (lseek(from, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot read the compiled object");
    while (object_bytes > 0) {
        size_t count = object_bytes < sizeof chunk ? (size_t)object_bytes : sizeof chunk;
        if (!read_exactly(from, chunk, count))
            return err_set(err, ERR_IO, "the compiled object got shorter while it was read");
        hash_update(hash, chunk, count);
        int result = file_write_fd(to, name, chunk, count, err);
        if (result < 0)
            return result;
        object_bytes -= count;
    }
    return 0;
}

static int write_entry(int to, const char *name, const char *key, int object_fd,
                       const char *diagnostics, struct err *err)
{
    struct stat facts = {0};
    if (object_fd >= 0 && fstat(object_fd, &facts) < 0)
        return err_sys(err, errno, "cannot read the compiled object");
    uint64_t object_bytes = (uint64_t)facts.st_size;
    size_t diagnostics_bytes = strlen(diagnostics);
    if ((object_bytes > 0) != (object_fd >= 0) || object_bytes > LIMIT_ARTIFACT_BYTES ||
        diagnostics_bytes > LIMIT_DIAGNOSTICS_BYTES)
        return err_set(err, ERR_LIMIT, "a build of %llu bytes does not fit the cache",
                       (unsigned long long)object_bytes);
    char footer[FOOTER_BYTES + 1];
    char digest[HASH_HEX_BYTES];
    footer_head(footer, object_fd >= 0, object_bytes, diagnostics_bytes);
    struct hash *hash = begin_digest(key, footer);
    int result = object_fd < 0 ? 0 : copy_object(object_fd, to, name, object_bytes, hash, err);
    hash_update(hash, diagnostics, diagnostics_bytes);
    hash_finish(hash, digest);
    snprintf(footer + FOOTER_HEAD_BYTES, sizeof footer - FOOTER_HEAD_BYTES, "%s\n", digest);
    if (result == 0)
        result = file_write_fd(to, name, diagnostics, diagnostics_bytes, err);
    if (result == 0)
        result = file_write_fd(to, name, footer, FOOTER_BYTES, err);
    return result;
}

int cache_put(const char *directory, const char key[HASH_HEX_BYTES], int object_fd,
              const char *diagnostics, char **path, struct err *err)
{
    char *subdirectory = mem_printf("%s/%.2s", directory, key);
    char *temporary = mem_printf("%s/new.XXXXXX", subdirectory);
    char *entry = entry_path(directory, key);
    int fd = -1;
    *path = NULL;
    int result = file_make_directories(subdirectory, 0700, err);
    if (result < 0)
        goto out;
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        result = err_sys(err, errno, "%s: cannot create", temporary);
        goto out;
    }
    result = write_entry(fd, entry, key, object_fd, diagnostics, err);
    if (result == 0 && fchmod(fd, 0444) < 0)
        result = err_sys(err, errno, "%s: cannot set its mode", entry);
    if (close(fd) < 0 && result == 0)
        result = err_sys(err, errno, "%s: cannot write", entry);
    if (result == 0 && rename(temporary, entry) < 0)
        result = err_sys(err, errno, "%s: cannot replace", entry);
    if (result < 0)
        unlink(temporary);
out:
    if (result == 0)
        *path = entry;
    else
        mem_free(entry);
    mem_free(temporary);
    mem_free(subdirectory);
    return result;
}

bool cache_tend(const char *directory, uint64_t max_bytes)
{
    struct stat facts;
    char *path = mem_printf("%s/swept", directory);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    mem_free(path);
    if (fd < 0)
        return false;
    bool due = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &facts) == 0 &&
               (facts.st_size == 0 || time(NULL) - facts.st_mtim.tv_sec >= CACHE_SWEEP_INTERVAL_S);
    if (due) {
        /* Written, not only touched: size 0 means that the cache was never swept. */
        (void)!pwrite(fd, "swept\n", 6, 0);
        cache_sweep(directory, max_bytes);
    }
    close(fd);
    return due;
}

struct found {
    char *path;
    uint64_t size_bytes;
    time_t used_at;
};

struct inventory {
    struct found *items;
    size_t count;
    size_t capacity;
    uint64_t total_bytes;
};

static void inventory_add(struct inventory *inventory, const char *directory, const char *name,
                          const struct stat *facts)
{
    if (inventory->count == inventory->capacity) {
        inventory->capacity = inventory->capacity ? 2 * inventory->capacity : 256;
        inventory->items = mem_resize(inventory->items,
                                      inventory->capacity * sizeof *inventory->items);
    }
    /* Blocks, not length: what removing it gives back. */
    uint64_t size_bytes = (uint64_t)facts->st_blocks * 512;
    inventory->items[inventory->count++] = (struct found){
        .path = mem_printf("%s/%s", directory, name),
        .size_bytes = size_bytes,
        .used_at = facts->st_mtim.tv_sec,
    };
    inventory->total_bytes += size_bytes;
}

static void take_inventory(struct inventory *inventory, const char *directory, time_t now)
{
    DIR *stream = opendir(directory);
    struct dirent *item;
    while (stream && (item = readdir(stream))) {
        struct stat facts;
        if (item->d_name[0] == '.' ||
            fstatat(dirfd(stream), item->d_name, &facts, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(facts.st_mode))
            continue;
        bool unfinished = strncmp(item->d_name, "new.", 4) == 0;
        if (unfinished && now - facts.st_mtim.tv_sec > CACHE_GRACE_S)
            unlinkat(dirfd(stream), item->d_name, 0);
        else if (!unfinished && strlen(item->d_name) == HASH_HEX_BYTES - 3)
            inventory_add(inventory, directory, item->d_name, &facts);
    }
    if (stream)
        closedir(stream);
}

static int compare_use(const void *left, const void *right)
{
    const struct found *a = left;
    const struct found *b = right;
    return a->used_at < b->used_at ? -1 : a->used_at > b->used_at;
}

uint64_t cache_sweep(const char *directory, uint64_t max_bytes)
{
    struct inventory inventory = {0};
    time_t now = time(NULL);
    for (int i = 0; i < 256; i++) {
        char *subdirectory = mem_printf("%s/%02x", directory, i);
        take_inventory(&inventory, subdirectory, now);
        mem_free(subdirectory);
    }
    if (inventory.count > 0)
        qsort(inventory.items, inventory.count, sizeof *inventory.items, compare_use);
    uint64_t total = inventory.total_bytes;
    uint64_t wanted = total > max_bytes ? max_bytes - max_bytes / 10 : total;
    for (size_t i = 0; i < inventory.count; i++) {
        struct found *found = &inventory.items[i];
        if (total > wanted && now - found->used_at > CACHE_GRACE_S && unlink(found->path) == 0)
            total -= found->size_bytes;
        mem_free(found->path);
    }
    mem_free(inventory.items);
    return total;
}
