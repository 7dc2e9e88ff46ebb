/* mount: a root of its own for one sandbox.
 *
 *   /        small memory file system, read-only in the end
 *   /proc    of the sandbox's own process namespace
 *   /dev     null zero full random urandom, and those of the GPUs where the sandbox has them
 *   /scratch bounded (memory, or the host directory that the sandbox names); /tmp leads to it
 *   …        each readable path at its own place, read-only
 */
#include "sandbox/sandbox.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(layer) (UINT32_C(1) << (layer))
#define NEW_ROOT "/sys" /* covered while the new root is built: nothing readable ever lies there */

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

struct attributes { /* struct mount_attr of Linux 5.12 */
    uint64_t set, clear, propagation, user_namespace;
};

static int make_place(const char *place, bool directory)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", place);
    for (char *slash = strchr(path + strlen(NEW_ROOT) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    if (directory)
        return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0;
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int make_read_only(const char *place)
{
    struct attributes attributes = {.set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
                                           MOUNT_ATTR_NODEV};
    if (syscall(SYS_mount_setattr, AT_FDCWD, place, AT_RECURSIVE, &attributes, sizeof attributes) ==
        0)
        return 0;
    struct statvfs facts;
    unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
    if (statvfs(place, &facts) == 0)
        flags |= facts.f_flag & (ST_NOEXEC | ST_NOATIME | ST_NODIRATIME | ST_RELATIME);
    return mount(NULL, place, NULL, flags, NULL);
}

/* Whether a place of the new root lies behind a link there. Nothing may be made behind one: it
 * would lead out of the new root while that is built, and its target has a path of its own. */
static bool behind_link(const char *place)
{
    char path[PATH_MAX];
    struct stat facts;
    snprintf(path, sizeof path, "%s", place);
    for (char *slash = strchr(path + strlen(NEW_ROOT) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode))
            return true;
        *slash = '/';
    }
    return false;
}

/* Binds `source` of the old root at `path` of the new one. A symbolic link is made again as a link.
   */
static int expose_path(int old_root, const char *source, const char *path)
{
    char place[PATH_MAX];
    char from[64];
    char target[PATH_MAX];
    struct stat facts;
    if (snprintf(place, sizeof place, "%s%s", NEW_ROOT, path) >= (int)sizeof place)
        return -1;
    if (behind_link(place))
        return 0;
    struct stat there;
    if (lstat(place, &there) == 0 && !S_ISDIR(there.st_mode))
        return 0;
    if (fstatat(old_root, source + 1, &facts, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISLNK(facts.st_mode)) {
        ssize_t length = readlinkat(old_root, source + 1, target, sizeof target - 1);
        if (length <= 0)
            return -1;
        target[length] = '\0';
        make_place(place, false);
        unlink(place);
        return symlink(target, place);
    }
    int fd = openat(old_root, source + 1, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0; /* not readable for us: not readable inside either */
    int result = make_place(place, S_ISDIR(facts.st_mode));
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    if (result == 0)
        result = mount(from, place, NULL, MS_BIND | MS_REC, NULL);
    if (result == 0)
        result = make_read_only(place);
    close(fd);
    return result;
}

/* Where it exists. */
static void make_device(int old_root, const char *name)
{
    char place[64];
    char from[64];
    snprintf(place, sizeof place, "%s%s", NEW_ROOT, name);
    int fd = openat(old_root, name + 1, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    if (make_place(place, false) == 0)
        (void)!mount(from, place, NULL, MS_BIND, NULL);
    close(fd);
}

static int make_scratch(const struct sandbox *sandbox, int old_root, struct err *err)
{
    char options[64];
    const char *place = NEW_ROOT SANDBOX_SCRATCH;
    mkdir(place, 0755);
    if (sandbox->scratch[0]) {
        char from[64];
        int fd = openat(old_root, sandbox->scratch + 1, O_PATH | O_CLOEXEC | O_DIRECTORY);
        if (fd < 0)
            return err_sys(err, errno, "%s: cannot open the scratch directory", sandbox->scratch);
        snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
        int result = mount(from, place, NULL, MS_BIND, NULL);
        int saved = errno;
        close(fd);
        return result < 0
                   ? err_sys(err, saved, "%s: cannot mount the scratch directory", sandbox->scratch)
                   : 0;
    }
    snprintf(options, sizeof options, "size=%llu,mode=1777,nr_inodes=20000",
             (unsigned long long)sandbox->scratch_bytes);
    if (mount("scratch", place, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return err_sys(err, errno, "cannot mount the scratch memory");
    return 0;
}

static int switch_root(struct err *err)
{
    if (chdir(NEW_ROOT) < 0)
        return err_sys(err, errno, "cannot enter the new root");
    if (syscall(SYS_pivot_root, ".", ".") == 0) {
        if (umount2(".", MNT_DETACH) < 0)
            return err_sys(err, errno, "cannot leave the old root");
    } else if (mount(NEW_ROOT, "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0) {
        return err_sys(err, errno, "cannot switch to the new root"); /* an initramfs, say */
    }
    return chdir("/") < 0 ? err_sys(err, errno, "cannot enter the new root") : 0;
}

static int build_root(const struct sandbox *sandbox, int old_root, uint32_t *layers,
                      struct err *err)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
    char device[SANDBOX_DEVICE_BYTES];
    if (sandbox->root[0]) {
        char bundled[600];
        snprintf(bundled, sizeof bundled, "%s/usr", sandbox->root);
        if (expose_path(old_root, bundled, "/usr") < 0)
            return err_sys(err, errno, "%s: cannot mount the toolchain", bundled);
        static const char *const links[] = {"bin", "lib", "lib64", "sbin"};
        for (size_t i = 0; i < COUNT(links); i++) {
            char target[32];
            char place[64];
            snprintf(target, sizeof target, "usr/%s", links[i]);
            snprintf(place, sizeof place, "%s/%s", NEW_ROOT, links[i]);
            (void)!symlink(target, place);
        }
    }
    const char *end = sandbox->paths + sandbox->paths_bytes;
    for (const char *path = sandbox->paths; path < end; path += strlen(path) + 1)
        if (expose_path(old_root, path, path) < 0)
            return err_sys(err, errno, "%s: cannot make it readable in the sandbox", path);
    for (size_t i = 0; i < COUNT(devices); i++)
        make_device(old_root, devices[i]);
    for (uint32_t i = 0; sandbox_gpu_device(sandbox, i, device); i++)
        make_device(old_root, device);
    int result = make_scratch(sandbox, old_root, err);
    if (result < 0)
        return result;
    *layers |= BIT(LAYER_SCRATCH);
    (void)!symlink("." SANDBOX_SCRATCH, NEW_ROOT "/tmp"); /* unless a readable path lies there */
    mkdir(NEW_ROOT "/proc", 0755);
    if (*layers & BIT(LAYER_PID) &&
        mount("proc", NEW_ROOT "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
        *layers |= BIT(LAYER_PROC);
    return 0;
}

int sandbox_mount(const struct sandbox *sandbox, uint32_t *layers, struct err *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        *layers &= ~BIT(LAYER_MOUNT); /* a namespace without the right to use it */
        return 0;
    }
    int old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int result = 0;
    umask(022);
    if (old_root < 0)
        result = err_sys(err, errno, "cannot open the root directory");
    else if (mount("sandbox", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=0755") < 0)
        result = err_sys(err, errno, "cannot mount memory for the new root");
    if (result == 0)
        result = build_root(sandbox, old_root, layers, err);
    if (old_root >= 0)
        close(old_root);
    if (result == 0)
        result = switch_root(err);
    if (result == 0)
        (void)!mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4m");
    umask(077);
    if (result == 0 && chdir(SANDBOX_SCRATCH) < 0)
        result = err_sys(err, errno, "cannot enter the scratch");
    return result;
}
