/* landlock: paths, TCP ports, abstract sockets and signals, by the kernel's own rules.
 * The headers of Debian 12 know ABI 2 only; newer rights are spelled out here and masked by the ABI
 * that the running kernel answers (landlock(7), linux/landlock.h of Linux 6.12). */
#include "base/array.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACCESS_EXECUTE (1ULL << 0)
#define ACCESS_WRITE_FILE (1ULL << 1)
#define ACCESS_READ_FILE (1ULL << 2)
#define ACCESS_READ_DIR (1ULL << 3)
#define ACCESS_ABI1 ((1ULL << 13) - 1)
#define ACCESS_REFER (1ULL << 13)     /* ABI 2 */
#define ACCESS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define ACCESS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define NET_BIND_CONNECT 3ULL         /* ABI 4 */
#define SCOPE_ALL 3ULL                /* ABI 6: abstract sockets, signals */

#define READ_ONLY (ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_READ_DIR)
#define READ_WRITE_FILE (ACCESS_READ_FILE | ACCESS_WRITE_FILE)

struct ruleset { /* struct landlock_ruleset_attr of ABI 6 */
    uint64_t files, net, scoped;
};

int sandbox_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

static uint64_t known_rights(int abi)
{
    uint64_t rights = ACCESS_ABI1;
    if (abi >= 2)
        rights |= ACCESS_REFER;
    if (abi >= 3)
        rights |= ACCESS_TRUNCATE;
    if (abi >= 5)
        rights |= ACCESS_IOCTL_DEV;
    return rights;
}

static int allow_path(int ruleset, const char *path, uint64_t rights, struct err *err)
{
    struct stat facts;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return 0; /* not there: nothing to allow */
    if (fstat(fd, &facts) == 0 && !S_ISDIR(facts.st_mode))
        rights &= ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_WRITE_FILE | ACCESS_TRUNCATE |
                  ACCESS_IOCTL_DEV;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    long done = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int saved = errno;
    close(fd);
    return done < 0 ? err_sys(err, saved, "%s: cannot allow it by Landlock", path) : 0;
}

static int allow_all(int ruleset, const struct sandbox *sandbox, bool own_root, uint64_t known,
                     struct err *err)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
    uint64_t all = known & ~ACCESS_IOCTL_DEV;
    const char *scratch = own_root || !sandbox->scratch[0] ? SANDBOX_SCRATCH : sandbox->scratch;
    char device[SANDBOX_DEVICE_BYTES];
    int result = 0;
    if (own_root || sandbox->scratch[0])
        result = allow_path(ruleset, scratch, all, err);
    bool cuda = sandbox_has_gpu(sandbox->kind);
    for (size_t i = 0; result == 0 && i < COUNT(devices); i++)
        result = allow_path(ruleset, devices[i], known & READ_WRITE_FILE, err);
    for (uint32_t i = 0; result == 0 && sandbox_gpu_device(sandbox, i, device); i++)
        result = allow_path(ruleset, device, known & (READ_WRITE_FILE | ACCESS_IOCTL_DEV), err);
    if (result == 0 && (own_root || cuda)) /* the driver names its threads there */
        result = allow_path(ruleset, own_root ? "/proc" : "/proc/self",
                            ACCESS_READ_FILE | ACCESS_READ_DIR |
                                (cuda ? known & (ACCESS_WRITE_FILE | ACCESS_TRUNCATE) : 0),
                            err);
    if (result == 0 && sandbox->root[0])
        result = allow_path(ruleset, "/usr", READ_ONLY, err);
    const char *end = sandbox->paths + sandbox->paths_bytes;
    for (const char *path = sandbox->paths; result == 0 && path < end; path += strlen(path) + 1)
        result = allow_path(ruleset, path, READ_ONLY, err);
    return result;
}

int sandbox_landlock(const struct sandbox *sandbox, bool own_root, struct err *err)
{
    int abi = sandbox_landlock_abi();
    struct ruleset attributes = {.files = known_rights(abi)};
    size_t bytes = sizeof attributes.files;
    if (abi >= 4) {
        attributes.net = NET_BIND_CONNECT;
        bytes += sizeof attributes.net;
    }
    if (abi >= 6) {
        attributes.scoped = SCOPE_ALL;
        bytes += sizeof attributes.scoped;
    }
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, bytes, 0);
    if (ruleset < 0)
        return err_sys(err, errno, "cannot create a Landlock ruleset");
    int result = allow_all(ruleset, sandbox, own_root, attributes.files, err);
    if (result == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        result = err_sys(err, errno, "cannot enforce the Landlock ruleset");
    close(ruleset);
    return result;
}
