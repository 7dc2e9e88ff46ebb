#include "base/lockfile.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

/* On a network file system the pid may belong to another machine. */
static bool has_open(pid_t pid, const struct stat *wanted)
{
    char *path = mem_printf("/proc/%d/fd", (int)pid);
    DIR *entries = opendir(path);
    bool found = false;
    for (struct dirent *entry; entries && !found && (entry = readdir(entries));) {
        struct stat status;
        found = fstatat(dirfd(entries), entry->d_name, &status, 0) == 0 &&
                status.st_dev == wanted->st_dev && status.st_ino == wanted->st_ino;
    }
    if (entries)
        closedir(entries);
    mem_free(path);
    return found;
}

static pid_t holder_of(int fd)
{
    struct flock lock = whole_file();
    struct stat status;
    if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        return LOCKFILE_NONE;
    bool known = lock.l_pid > 0 && fstat(fd, &status) == 0 && has_open(lock.l_pid, &status);
    return known ? lock.l_pid : LOCKFILE_UNKNOWN;
}

pid_t lockfile_holder(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return LOCKFILE_NONE;
    pid_t holder = holder_of(fd);
    close(fd);
    return holder;
}

int lockfile_take(const char *path, int *fd, struct err *err)
{
    struct flock lock = whole_file();
    int result;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (*fd < 0)
        return err_sys(err, errno, "%s: cannot open", path);
    if (fcntl(*fd, F_SETLK, &lock) == 0)
        return 0;
    if (errno != EACCES && errno != EAGAIN) {
        result = err_sys(err, errno, "%s: cannot lock", path);
    } else {
        pid_t holder = holder_of(*fd);
        result = holder > 0
                     ? err_set(err, ERR_LIMIT, "another process (%d) has %s", (int)holder, path)
                     : err_set(err, ERR_LIMIT, "another process has %s", path);
    }
    close(*fd);
    *fd = -1;
    return result;
}
