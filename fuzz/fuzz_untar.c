/* Whatever a server sends as an archive: plain files below one directory, or a refusal. */
#include "base/file.h"
#include "policy/untar.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MOST 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
    if (!good)
        abort();
}

static void check_files(const char *directory)
{
    DIR *entries = opendir(directory);
    off_t bytes = 0;
    check(entries != NULL);
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct stat status;
        check(fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0);
        check(S_ISREG(status.st_mode) || entry->d_name[0] == '.');
        bytes += S_ISREG(status.st_mode) ? status.st_size : 0;
    }
    check(bytes <= MOST);
    closedir(entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char directory[] = "/tmp/warpgym-untar-XXXXXX";
    const struct untar_options options = {directory, MOST, 4};
    struct untar *untar = NULL;
    struct err err = {0};
    check(mkdtemp(directory) != NULL);
    check(untar_open(&untar, &options, &err) == 0);
    int result = untar_write(untar, data, size / 2, &err);
    if (result == 0)
        result = untar_write(untar, data + size / 2, size - size / 2, &err);
    result = untar_close(untar, result, &err);
    check(result == 0 || err.text[0]);
    check_files(directory);
    file_remove_tree(directory);
    return 0;
}
