/* Directories: whose a path is, and what is on the disk. */
#include "base/file.h"

#include "../support/test.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(beginning_as_text)
{
    char *directory = support_directory();
    char *path = mem_printf("%s/text", directory);
    char text[4] = "???";
    assert_int_equal(file_write_atomic(path, "ab\n", 3, 0600, NULL), 0);
    file_read_text(path, text, sizeof text);
    assert_string_equal(text, "ab\n");
    file_read_text(path, text, 3);
    assert_string_equal(text, "ab");
    file_read_text(directory, text, sizeof text);
    assert_string_equal(text, "");
    file_read_text("/nowhere/at/all", text, sizeof text);
    assert_string_equal(text, "");
    mem_free(path);
}

TEST(parent)
{
    static const struct {
        const char *path, *parent;
    } rows[] = {
        {"a", "."}, {"a/b", "a"}, {"/a", "/"}, {"/a/b/c", "/a/b"}, {"../a", ".."}, {"", "."},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *parent = file_parent(rows[i].path);
        assert_string_equal(parent, rows[i].parent);
        mem_free(parent);
    }
}

TEST(from)
{
    static const struct {
        const char *path, *found;
    } rows[] = {{"a", "x/a"}, {"a/b", "x/a/b"}, {"/a", "/a"}, {"../a", "x/../a"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *found = file_from("x", rows[i].path);
        assert_string_equal(found, rows[i].found);
        mem_free(found);
    }
}

static int fill_with(const void *letter, void *into, size_t count, struct err *err)
{
    if (*(const char *)letter == '\0')
        return err_set(err, ERR_PROTOCOL, "nothing to fill it with");
    memset(into, *(const char *)letter, count);
    return 0;
}

/* It is as large as it was asked for, and cannot be written to. */
TEST(filled)
{
    struct err err = {0};
    for (size_t count = 0; count <= 5000; count += 5000) {
        int fd = file_memory_filled("x", count, fill_with, "z", &err);
        char *bytes;
        size_t found;
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "y", 1), -1);
        assert_int_equal(ftruncate(fd, 9000), -1);
        assert_int_equal(file_read_fd(fd, "x", 9000, &bytes, &found, &err), 0);
        assert_int_equal(found, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(bytes[i], 'z');
        mem_free(bytes);
        close(fd);
    }
    assert_int_equal(file_memory_filled("x", 9, fill_with, "", &err), ERR_PROTOCOL);
}

/* A directory may be a link; what lies in one may not: files elsewhere stay. */
TEST(sync)
{
    struct err err = {0};
    char *directory = support_directory();
    char *file = support_text("%s/file", directory), *link = support_text("%s/link", directory);
    char *inner = support_text("%s/inner", directory), *none = support_text("%s/none/x", directory);
    assert_int_equal(file_write_atomic(file, "x", 1, 0600, &err), 0);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(file_sync_files(directory, &err), 0);
    assert_int_equal(file_sync_directory(directory, &err), 0);
    assert_int_equal(file_sync_parent(file, &err), 0);
    assert_int_equal(file_sync_directory(file, &err), ERR_IO);
    assert_non_null(strstr(err.text, "/file: cannot write it to the disk"));
    assert_int_equal(file_sync_parent(none, &err), ERR_IO);
    assert_int_equal(file_sync_files(none, &err), ERR_IO);
    assert_int_equal(symlink(inner, link), 0);
    assert_int_equal(file_sync_directory(link, &err), 0);
    assert_int_equal(file_sync_files(directory, &err), ERR_IO);
    assert_non_null(strstr(err.text, "/link: cannot write it to the disk"));
}
