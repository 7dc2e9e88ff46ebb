#include "compile/cache.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER_KEY "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"
#define SIBLING_KEY "0011223344556677889900000000000000112233445566778899aabbccddeeff"

static char *directory; /* of one test */

FIXTURE(make_directory)
{
    directory = support_directory();
    return 0;
}

TEST_EACH(make_directory, NULL);

static int object_of(const void *bytes, size_t count)
{
    int fd = file_memory_from("object", bytes, count, NULL);
    assert_true(fd >= 0);
    return fd;
}

/* Publishes; returns the entry's path, the caller's. */
static char *put(const char *key, const char *object, const char *diagnostics)
{
    struct err err = {0};
    char *path = NULL;
    int fd = object ? object_of(object, strlen(object)) : -1;
    if (cache_put(directory, key, fd, diagnostics, &path, &err) != 0)
        fail_msg("%s", err.text);
    if (fd >= 0)
        close(fd);
    return support_keep(path);
}

/* Where the entry of a key lies. The caller's. */
static char *entry_of(const char *key)
{
    return support_text("%s/%.2s/%s", directory, key, key + 2);
}

static bool has(const char *key)
{
    struct cache_entry entry;
    bool found = cache_get(directory, key, &entry);
    mem_free(entry.path);
    mem_free(entry.diagnostics);
    return found;
}

static int count_files(const char *path, const char *prefix)
{
    int count = 0;
    DIR *stream = opendir(path);
    struct dirent *item;
    while (stream && (item = readdir(stream)))
        if (item->d_name[0] != '.' && strncmp(item->d_name, prefix, strlen(prefix)) == 0)
            count++;
    if (stream)
        closedir(stream);
    return count;
}

static void set_age(const char *path, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static time_t age_of(const char *path)
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return time(NULL) - facts.st_mtim.tv_sec;
}

TEST(round_trip)
{
    static const struct {
        const char *object, *diagnostics;
    } rows[] = {
        {"x", ""},
        {"an object", "a.c:1:1: warning: odd\n"},
        {NULL, "a.c:1:1: error: no\n"},
        {NULL, ""},
        {"warpgym-build 1 ok ", "warpgym-build 1 no 0000000000000000\n"},
    };
    assert_false(has(KEY));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cache_entry entry;
        char *path = put(KEY, rows[i].object, rows[i].diagnostics);
        assert_true(cache_get(directory, KEY, &entry));
        assert_int_equal(entry.ok, rows[i].object != NULL);
        assert_string_equal(entry.path, path);
        assert_string_equal(entry.diagnostics, rows[i].diagnostics);
        char *bytes;
        size_t count;
        assert_int_equal(file_read(path, 4096, &bytes, &count, NULL), 0);
        if (rows[i].object)
            assert_memory_equal(bytes, rows[i].object, strlen(rows[i].object));
        assert_false(has(OTHER_KEY));
        assert_false(has(SIBLING_KEY));
        mem_free(bytes);
        mem_free(entry.path);
        mem_free(entry.diagnostics);
    }
    char *subdirectory = support_text("%s/00", directory);
    assert_int_equal(count_files(subdirectory, ""), 1);
}

TEST(object_of_many_chunks)
{
    size_t count = (1 << 20) + 17;
    char *object = mem_alloc(count + 1);
    for (size_t i = 0; i < count; i++)
        object[i] = (char)('a' + i % 23);
    char *path = put(KEY, object, "w\n");
    assert_true(has(KEY));
    /* The loader takes it as it is: the object's bytes come first. */
    char *bytes;
    size_t size;
    assert_int_equal(file_read(path, 2 << 20, &bytes, &size, NULL), 0);
    assert_memory_equal(bytes, object, count);
    mem_free(bytes);
    mem_free(object);
}

/* Ways to spoil an entry; each is a miss, and the next build repairs it. */
enum damage {
    EMPTY,
    HALF,
    ONE_SHORT,
    ONE_LONG,
    FLIP_OBJECT,
    FLIP_DIAGNOSTICS,
    FLIP_OUTCOME,
    FLIP_LENGTH,
    FLIP_DIGEST,
    WRONG_NAME,
    LINK,
    PIPE,
    DIRECTORY,
    UNREADABLE,
    DAMAGES
};

static void flip(const char *path, off_t at)
{
    char byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void replace(const char *path, enum damage damage)
{
    char *aside = support_text("%s/aside", directory);
    if (damage == WRONG_NAME) {
        put(OTHER_KEY, "other", "");
        char *other = entry_of(OTHER_KEY);
        assert_int_equal(rename(other, path), 0);
    } else {
        assert_int_equal(rename(path, aside), 0);
    }
    if (damage == LINK)
        assert_int_equal(symlink(aside, path), 0);
    if (damage == PIPE)
        assert_int_equal(mkfifo(path, 0600), 0);
    if (damage == DIRECTORY)
        assert_int_equal(mkdir(path, 0700), 0);
}

static void spoil(const char *path, enum damage damage)
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    off_t size = facts.st_size;
    off_t footer = size - 118;
    assert_int_equal(chmod(path, 0600), 0);
    switch (damage) {
    case EMPTY:
        assert_int_equal(truncate(path, 0), 0);
        break;
    case HALF:
        assert_int_equal(truncate(path, size / 2), 0);
        break;
    case ONE_SHORT:
        assert_int_equal(truncate(path, size - 1), 0);
        break;
    case ONE_LONG:
        assert_int_equal(truncate(path, size + 1), 0);
        break;
    case FLIP_OBJECT:
        flip(path, 3);
        break;
    case FLIP_DIAGNOSTICS:
        flip(path, footer - 2);
        break;
    case FLIP_OUTCOME:
        flip(path, footer + 16);
        break;
    case FLIP_LENGTH:
        flip(path, footer + 34);
        break;
    case FLIP_DIGEST:
        flip(path, size - 2);
        break;
    case UNREADABLE: /* unread by us, or somebody else's: not ours to trust */
        assert_int_equal(geteuid() == 0 ? chown(path, 12345, 12345) : chmod(path, 0), 0);
        break;
    default:
        replace(path, damage);
    }
}

TEST(damage_is_a_miss)
{
    for (int damage = 0; damage < DAMAGES; damage++) {
        char *path = put(KEY, "the object", "a.c:1:1: warning: odd\n");
        assert_true(has(KEY));
        spoil(path, (enum damage)damage);
        if (has(KEY))
            fail_msg("damage %d was not noticed", damage);
        if (damage == DIRECTORY)
            rmdir(path);
        put(KEY, "the object", "a.c:1:1: warning: odd\n");
        assert_true(has(KEY));
    }
}

TEST(directory_in_the_way)
{
    struct err err = {0};
    char *path = entry_of(KEY);
    assert_int_equal(file_make_directories(path, 0700, NULL), 0);
    char *published;
    int fd = object_of("x", 1);
    assert_int_equal(cache_put(directory, KEY, fd, "", &published, &err), ERR_IO);
    assert_null(published);
    assert_non_null(strstr(err.text, path));
    close(fd);
    char *subdirectory = support_text("%s/00", directory);
    assert_int_equal(count_files(subdirectory, "new."), 0);
}

TEST(what_does_not_fit)
{
    char *path;
    int empty = object_of("", 0);
    assert_true(cache_put(directory, KEY, empty, "", &path, NULL) < 0);
    close(empty);
    char *long_text = mem_alloc((64 << 10) + 2);
    memset(long_text, 'x', (64 << 10) + 1);
    assert_int_equal(cache_put(directory, KEY, -1, long_text, &path, NULL), ERR_LIMIT);
    mem_free(long_text);
    assert_false(has(KEY));
}

TEST(directory_that_cannot_be)
{
    struct err err = {0};
    char *file = support_text("%s/file", directory);
    assert_int_equal(file_write_atomic(file, "x", 1, 0600, NULL), 0);
    char *inside = support_text("%s/cache", file);
    struct cache_entry entry;
    assert_false(cache_get(inside, KEY, &entry));
    char *path;
    assert_int_equal(cache_put(inside, KEY, -1, "", &path, &err), ERR_IO);
    assert_non_null(strstr(err.text, file));
    assert_false(cache_tend(inside, 1));
    assert_int_equal(cache_sweep(inside, 0), 0);
}

enum shortage { FILE_LIMIT, TINY_DISK, SHORTAGES };

/* In a child. 0: the entry was refused with a reason and nothing is left over. */
static int put_short_of_space(enum shortage shortage)
{
    struct err err = {0};
    struct rlimit limit = {.rlim_cur = 65536, .rlim_max = 65536};
    char *path;
    char *subdirectory = mem_printf("%s/00", directory);
    size_t count = 1 << 20;
    int fd = object_of(mem_alloc(count), count);
    signal(SIGXFSZ, SIG_IGN);
    if (shortage == FILE_LIMIT)
        setrlimit(RLIMIT_FSIZE, &limit);
    else if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
             mount("tiny", directory, "tmpfs", 0, "size=64k") < 0)
        return 0; /* where nothing may be mounted, the file limit is the test */
    if (cache_put(directory, KEY, fd, "", &path, &err) != ERR_IO)
        return 1;
    return !err.text[0] ? 2 : count_files(subdirectory, "") > 0 ? 3 : has(KEY) ? 4 : 0;
}

TEST(full_disk)
{
    for (int shortage = 0; shortage < SHORTAGES; shortage++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(put_short_of_space((enum shortage)shortage));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* Reads and writes a few entries over and over; whatever is found has to be whole. */
static int hammer(uint64_t seed)
{
    for (int i = 0; i < 150; i++) {
        char key[HASH_HEX_BYTES];
        char object[64];
        struct cache_entry entry;
        unsigned which = random_next(&seed) & 3;
        memcpy(key, KEY, sizeof key);
        key[63] = (char)('0' + which);
        snprintf(object, sizeof object, "object number %u", which);
        if (cache_get(directory, key, &entry)) {
            char *bytes;
            size_t count;
            if (!entry.ok || file_read(entry.path, 4096, &bytes, &count, NULL) < 0 ||
                memcmp(bytes, object, strlen(object)) != 0)
                return 1;
            mem_free(bytes);
            mem_free(entry.path);
            mem_free(entry.diagnostics);
        }
        char *path = NULL;
        int fd = file_memory_from("object", object, strlen(object), NULL);
        if (fd < 0 || cache_put(directory, key, fd, "", &path, NULL) < 0)
            return 2;
        close(fd);
        mem_free(path);
        if (i % 50 == 0)
            cache_sweep(directory, 0); /* fresh entries stay even where nothing should */
    }
    return 0;
}

TEST(processes_share_a_directory)
{
    pid_t pids[4];
    for (unsigned i = 0; i < 4; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(hammer(i * 7919 + 1));
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    char *subdirectory = support_text("%s/00", directory);
    assert_int_equal(count_files(subdirectory, ""), 4);
}

static void key_of(int number, char key[HASH_HEX_BYTES])
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    hash_bytes(text, strlen(text), key);
}

TEST(sweep_removes_the_longest_unused)
{
    char key[HASH_HEX_BYTES];
    uint64_t each = 0;
    for (int i = 0; i < 10; i++) {
        key_of(i, key);
        char *path = put(key, "object", "");
        struct stat facts;
        assert_int_equal(stat(path, &facts), 0);
        each = (uint64_t)facts.st_blocks * 512;
        set_age(path, i < 8 ? 10000 - i : 5); /* 0 is the oldest; 8 and 9 are in use */
    }
    char *subdirectory = support_text("%s/00", directory);
    char *unfinished = support_text("%s/new.abcdef", subdirectory);
    char *fresh = support_text("%s/new.ghijkl", subdirectory);
    char *foreign = support_text("%s/notes.txt", subdirectory);
    assert_int_equal(file_make_directories(subdirectory, 0700, NULL), 0);
    assert_int_equal(file_write_atomic(unfinished, "x", 1, 0600, NULL), 0);
    assert_int_equal(file_write_atomic(fresh, "x", 1, 0600, NULL), 0);
    assert_int_equal(file_write_atomic(foreign, "x", 1, 0600, NULL), 0);
    set_age(unfinished, 10000);
    set_age(foreign, 100000);

    assert_int_equal(cache_sweep(directory, 10 * each), 10 * each);
    assert_false(file_exists(unfinished));
    assert_true(file_exists(fresh));
    /* To nine tenths of the bound: with room for 8, 7 stay. */
    assert_int_equal(cache_sweep(directory, 8 * each), 7 * each);
    for (int i = 0; i < 10; i++) {
        key_of(i, key);
        assert_int_equal(has(key), i >= 3);
    }
    for (int i = 3; i < 8; i++) { /* has() used them */
        key_of(i, key);
        char *path = entry_of(key);
        assert_true(age_of(path) < 100);
        set_age(path, 10000);
    }
    assert_int_equal(cache_sweep(directory, 0), 2 * each);
    assert_true(file_exists(foreign));
}

TEST(use_is_recorded)
{
    char *path = put(KEY, "object", "");
    set_age(path, 30);
    assert_true(has(KEY));
    assert_true(age_of(path) >= 30); /* lately enough: not worth a write */
    set_age(path, 3000);
    assert_true(has(KEY));
    assert_true(age_of(path) < 100);
}

TEST(tending_is_rare_and_alone)
{
    char *stamp = support_text("%s/swept", directory);
    assert_true(cache_tend(directory, 1 << 20));
    assert_false(cache_tend(directory, 1 << 20));
    set_age(stamp, CACHE_SWEEP_INTERVAL_S + 10);
    int fd = open(stamp, O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_false(cache_tend(directory, 1 << 20)); /* somebody is at it */
    close(fd);
    char *path = put(KEY, "object", "");
    set_age(path, 10000);
    assert_true(cache_tend(directory, 0));
    assert_false(file_exists(path));
    assert_false(cache_tend(directory, 0));
}
