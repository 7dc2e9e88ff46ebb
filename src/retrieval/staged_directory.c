#include "retrieval/staged_directory.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK ".building-"

static void remove_if_left(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        file_remove_tree(path);
    close(fd);
}

static void remove_left(const char *target)
{
    char *parent = file_parent(target);
    const char *slash = strrchr(target, '/');
    char *prefix = mem_printf("%s" MARK, slash ? slash + 1 : target);
    DIR *stream = opendir(parent);
    struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            char *path = mem_printf("%s/%s", parent, entry->d_name);
            remove_if_left(path);
            mem_free(path);
        }
    if (stream)
        closedir(stream);
    mem_free(prefix);
    mem_free(parent);
}

int staged_directory_begin(struct staged_directory *staging, const char *target, struct err *err)
{
    *staging = (struct staged_directory){.fd = -1, .target = mem_strdup(target)};
    for (size_t length = strlen(target); length > 1 && target[length - 1] == '/'; length--)
        staging->target[length - 1] = '\0';
    char *parent = file_parent(staging->target);
    int result = file_make_directories(parent, 0755, err);
    mem_free(parent);
    if (result < 0)
        return result;
    remove_left(staging->target);
    char *path = mem_printf("%s" MARK "XXXXXX", staging->target);
    if (!mkdtemp(path)) {
        result = err_sys(err, errno, "cannot create %s", path);
        mem_free(path);
        return result;
    }
    staging->path = path;
    staging->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (staging->fd < 0 || flock(staging->fd, LOCK_EX | LOCK_NB) < 0)
        return err_sys(err, errno, "cannot lock %s", path);
    if (fchmod(staging->fd, 0755) < 0)
        return err_sys(err, errno, "cannot set the mode of %s", path);
    return 0;
}

/* File systems without exchange have a moment with neither directory. */
static int replace_by_rename(const struct staged_directory *staging, struct err *err)
{
    char *aside = mem_printf("%s-old", staging->path);
    int result = 0;
    if (rename(staging->target, aside) < 0 || rename(staging->path, staging->target) < 0)
        result = err_sys(err, errno, "cannot replace %s", staging->target);
    else
        file_remove_tree(aside);
    mem_free(aside);
    return result;
}

int staged_directory_commit(struct staged_directory *staging, struct err *err)
{
    int result = file_sync_files(staging->path, err);
    if (result < 0)
        return result;
    if (renameat2(AT_FDCWD, staging->path, AT_FDCWD, staging->target, RENAME_EXCHANGE) == 0)
        file_remove_tree(staging->path);
    else if (errno == ENOENT && rename(staging->path, staging->target) == 0)
        result = 0;
    else if (errno == EINVAL || errno == ENOSYS)
        result = replace_by_rename(staging, err);
    else
        result = err_sys(err, errno, "cannot rename %s into place", staging->target);
    if (result == 0) {
        mem_free(staging->path);
        staging->path = NULL;
        result = file_sync_parent(staging->target, err);
    }
    return result;
}

void staged_directory_deinit(struct staged_directory *staging)
{
    if (staging->path)
        file_remove_tree(staging->path);
    if (staging->fd >= 0)
        close(staging->fd);
    mem_free(staging->path);
    mem_free(staging->target);
    *staging = (struct staged_directory){.fd = -1};
}
