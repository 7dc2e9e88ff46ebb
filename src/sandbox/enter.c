#include "sandbox/sandbox.h"

#include "sandbox/output.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(layer) (UINT32_C(1) << (layer))

/* When the machine's memory is used up, the kernel ends a sandboxed process before the judge. */
#define OOM_SCORE "900"

static bool write_proc(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

/* A user namespace in which the present identity is mapped to itself and to nothing else. */
static bool own_user_namespace(void)
{
    char map[64];
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWUSER) < 0)
        return false;
    write_proc("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1\n", (unsigned)group, (unsigned)group);
    bool ok = write_proc("/proc/self/gid_map", map);
    snprintf(map, sizeof map, "%u %u 1\n", (unsigned)user, (unsigned)user);
    return write_proc("/proc/self/uid_map", map) && ok;
}

static bool has_capability(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{0}};
    return syscall(SYS_capget, &header, sets) == 0 &&
           (sets[capability / 32].effective >> capability % 32 & 1);
}

/* Only a process outside may map identities that are not its own. */
static bool map_nobody(pid_t pid)
{
    char path[64], map[64];
    snprintf(map, sizeof map, "0 0 1\n%u %u 1\n", SANDBOX_NOBODY, SANDBOX_NOBODY);
    snprintf(path, sizeof path, "/proc/%ld/gid_map", (long)pid);
    bool ok = write_proc(path, map);
    snprintf(path, sizeof path, "/proc/%ld/uid_map", (long)pid);
    return write_proc(path, map) && ok;
}

/* A user namespace of root and SANDBOX_NOBODY, for a root that may not make mounts outside of one.
 * False, and *stranded: it was made, and no identity is mapped in it. */
static bool root_user_namespace(bool *stranded)
{
    int ends[2], status = 1;
    char word = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t self = getpid();
    pid_t outside = fork();
    if (outside == 0) {
        close(ends[1]);
        _exit(read(ends[0], &word, 1) == 1 && map_nobody(self) ? 0 : 1);
    }
    close(ends[0]);
    bool made = outside > 0 && unshare(CLONE_NEWUSER) == 0;
    if (made)
        (void)!write(ends[1], &word, 1);
    close(ends[1]);
    while (outside > 0 && waitpid(outside, &status, 0) < 0 && errno == EINTR)
        ;
    *stranded = made && status != 0;
    return made && status == 0;
}

static void try_namespace(const struct sandbox *sandbox, uint32_t *layers, enum sandbox_layer layer,
                          int flag)
{
    if (!(sandbox->forbid & BIT(layer)) && unshare(flag) == 0)
        *layers |= BIT(layer);
}

/* A user that may not make mounts has to be root of a user namespace first. */
static bool needs_user_namespace(void)
{
    if (geteuid() != 0)
        return true;
    return !has_capability(CAP_SYS_ADMIN) && has_capability(CAP_SETUID) &&
           has_capability(CAP_SETGID) && has_capability(CAP_SETFCAP);
}

bool sandbox_unshare(const struct sandbox *sandbox, uint32_t *layers)
{
    bool stranded = false;
    *layers = 0;
    if (!(sandbox->forbid & BIT(LAYER_USER)) && needs_user_namespace() &&
        (geteuid() == 0 ? root_user_namespace(&stranded) : own_user_namespace()))
        *layers |= BIT(LAYER_USER);
    if (stranded)
        return false;
    try_namespace(sandbox, layers, LAYER_MOUNT, CLONE_NEWNS);
    try_namespace(sandbox, layers, LAYER_NET, CLONE_NEWNET);
    try_namespace(sandbox, layers, LAYER_IPC, CLONE_NEWIPC);
    try_namespace(sandbox, layers, LAYER_UTS, CLONE_NEWUTS);
    try_namespace(sandbox, layers, LAYER_PID, CLONE_NEWPID);
    return true;
}

static int keep_descriptor(int keep, struct err *err)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return err_sys(err, errno, "/dev/null: cannot open");
    for (int fd = 0; fd <= 2; fd++)
        if (fd != keep && dup2(null, fd) < 0)
            return err_sys(err, errno, "cannot redirect descriptor %d", fd);
    unsigned low = (unsigned)keep;
    if (low > 3)
        syscall(SYS_close_range, 3U, low - 1, 0);
    syscall(SYS_close_range, low + 1 > 3 ? low + 1 : 3U, ~0U, 0);
    return 0;
}

/* Root becomes SANDBOX_NOBODY; other users keep their identity, without a right beyond it. */
static int change_identity(const struct sandbox *sandbox, uint32_t *layers, struct err *err)
{
    if (geteuid() == 0) {
        gid_t none = SANDBOX_NOBODY;
        bool judge_can_end_it = *layers & BIT(LAYER_USER) || has_capability(CAP_KILL);
        errno = EPERM;
        if (!judge_can_end_it || setgroups(1, &none) < 0 || setresgid(none, none, none) < 0 ||
            setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0)
            return err_sys(err, errno,
                           "cannot give up root (run warpgym as another user, or with CAP_SETUID, "
                           "CAP_SETGID and CAP_KILL)");
        *layers |= BIT(LAYER_IDENTITY);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* /proc/self must stay ours for the maps below */
        if (!(*layers & BIT(LAYER_USER)) && !(sandbox->forbid & BIT(LAYER_USER)) &&
            own_user_namespace())
            *layers |= BIT(LAYER_USER);
    } else if (*layers & BIT(LAYER_USER)) {
        *layers |= BIT(LAYER_IDENTITY);
    }
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    if (syscall(SYS_capset, &header, none) < 0)
        return err_sys(err, errno, "cannot give up capabilities");
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the judge reads this process's memory */
    return 0;
}

/* First figure of /proc/self/statm: pages of address space. */
static uint64_t mapped_bytes(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        snprintf(text, sizeof text, "%u", 1U << 21); /* 8 GiB: too much rather than too little */
    if (fd >= 0)
        close(fd);
    return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

_Static_assert(SANDBOX_LAYER_COUNT + SANDBOX_LIMIT_COUNT <= 32, "`layers` has a bit for each");

/* A hard limit that is already lower stays. */
static bool set_limit(__rlimit_resource_t resource, uint64_t value)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return false;
    if (value < limit.rlim_max)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

static void set_limits(const struct sandbox *sandbox, uint64_t mapped, uint32_t *layers)
{
    const uint64_t unbounded = RLIM_INFINITY;
    const uint64_t output = 2 * SANDBOX_OUTPUT_BYTES; /* so that its seals refuse, not a signal */
    const struct {
        __rlimit_resource_t resource;
        uint64_t value;
    } limits[SANDBOX_LIMIT_COUNT] = {
        [LIMIT_CORE] = {RLIMIT_CORE, 0},
        [LIMIT_FILE_SIZE] = {RLIMIT_FSIZE,
                             sandbox->scratch_bytes > output ? sandbox->scratch_bytes : output},
        [LIMIT_OPEN_FILES] = {RLIMIT_NOFILE, 256},
        [LIMIT_MESSAGE_QUEUES] = {RLIMIT_MSGQUEUE, 0},
        [LIMIT_LOCKED_MEMORY] = {RLIMIT_MEMLOCK, 65536},
        [LIMIT_PROCESSES] = {RLIMIT_NPROC, sandbox->processes},
        [LIMIT_STACK] = {RLIMIT_STACK, UINT64_C(8) << 20},
        [LIMIT_CPU_TIME] = {RLIMIT_CPU, sandbox->cpu_seconds ? sandbox->cpu_seconds : unbounded},
        [LIMIT_ADDRESS_SPACE] = {RLIMIT_AS, sandbox->memory_bytes ? mapped + sandbox->memory_bytes
                                                                  : unbounded},
    };
    uint32_t failed = 0;
    for (int i = 0; i < SANDBOX_LIMIT_COUNT; i++)
        if (limits[i].value != unbounded && !set_limit(limits[i].resource, limits[i].value))
            failed |= SANDBOX_LIMIT_FAILED(i);
    *layers |= failed ? failed : BIT(LAYER_LIMITS);
}

int sandbox_enter(const struct sandbox *sandbox, int keep, uint32_t *layers, struct err *err)
{
    int result = keep_descriptor(keep, err);
    if (result < 0)
        return result;
    uint64_t mapped = mapped_bytes();
    (void)write_proc("/proc/self/oom_score_adj", OOM_SCORE);
    setpgid(0, 0); /* not a session: see standby.c */
    umask(077);
    if (*layers & BIT(LAYER_MOUNT)) {
        result = sandbox_mount(sandbox, layers, err);
        if (result < 0)
            return result;
    }
    if (!(*layers & BIT(LAYER_SCRATCH)) && sandbox->scratch[0] && chdir(sandbox->scratch) == 0)
        *layers |= BIT(LAYER_SCRATCH);
    result = change_identity(sandbox, layers, err);
    if (result < 0)
        return result;
    set_limits(sandbox, mapped, layers);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        *layers |= BIT(LAYER_NO_NEW_PRIVS);
    return 0;
}

int sandbox_lock(const struct sandbox *sandbox, uint32_t *layers, struct err *err)
{
    struct err why = {0};
    bool own_root = *layers & BIT(LAYER_MOUNT);
    if (!(sandbox->forbid & BIT(LAYER_LANDLOCK)) && sandbox_landlock_abi() > 0) {
        if (sandbox_landlock(sandbox, own_root, &why) == 0)
            *layers |= BIT(LAYER_LANDLOCK);
    }
    if (!(sandbox->forbid & BIT(LAYER_SECCOMP))) {
        enum sandbox_filter filter = sandbox->kind == SANDBOX_BUILD     ? FILTER_BUILD
                                     : sandbox->kind == SANDBOX_PROGRAM ? FILTER_PROGRAM
                                     : sandbox_has_gpu(sandbox->kind)   ? FILTER_CUDA
                                                                        : FILTER_RUN;
        if (sandbox_filter_load(filter, &why) == 0)
            *layers |= BIT(LAYER_SECCOMP);
    }
    if (!(*layers & (BIT(LAYER_SECCOMP) | BIT(LAYER_PID))))
        return err_set(
            err, ERR_UNSUPPORTED,
            "neither a system-call filter nor a process namespace is to be had here (%s)",
            why.text);
    return 0;
}
