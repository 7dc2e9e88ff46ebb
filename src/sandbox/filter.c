/* filter: which system calls a sandboxed process may make. An allow-list; all else fails with
 * EPERM, so that a library which merely tries something goes on.
 *
 * FILTER_RUN     what computing needs: memory, threads, files (Landlock says which), its channel
 * FILTER_CUDA    the same, ioctl (which reaches the driver's device files) and a listening socket
 * FILTER_BUILD   the same and what starting a compiler needs
 * FILTER_PROGRAM FILTER_RUN and execve, which sandbox_filter_execute_at has reduced to one call
 *
 * Arguments are checked where the call alone says too little: clone only makes threads, tgkill only
 * aborts, prctl only names threads. clone3 hides its flags behind a pointer: ENOSYS makes the C
 * library fall back to clone. The program is made once per process (the standby server makes it
 * before it forks) and loaded with one system call. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"

static const int run_calls[] = {
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(madvise),
    SCMP_SYS(mbind),
    SCMP_SYS(get_mempolicy),
    SCMP_SYS(mincore),
    SCMP_SYS(mmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(mremap),
    SCMP_SYS(munmap),
    SCMP_SYS(set_mempolicy),
    /* threads and time */
    SCMP_SYS(arch_prctl),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(futex),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(getcpu),
    SCMP_SYS(gettid),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(membarrier),
    SCMP_SYS(nanosleep),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_get_priority_max),
    SCMP_SYS(sched_get_priority_min),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_setaffinity),
    SCMP_SYS(sched_yield),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(time),
    SCMP_SYS(times),
    /* signals to itself */
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigpending),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(sigaltstack),
    /* own identity */
    SCMP_SYS(getegid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getgroups),
    SCMP_SYS(getpgid),
    SCMP_SYS(getpgrp),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getrandom),
    SCMP_SYS(getresgid),
    SCMP_SYS(getresuid),
    SCMP_SYS(getrlimit),
    SCMP_SYS(getrusage),
    SCMP_SYS(getsid),
    SCMP_SYS(getuid),
    SCMP_SYS(sysinfo),
    SCMP_SYS(uname),
    /* files; Landlock and the sandbox's own root decide which */
    SCMP_SYS(access),
    SCMP_SYS(chdir),
    SCMP_SYS(close),
    SCMP_SYS(close_range),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(fadvise64),
    SCMP_SYS(fallocate),
    SCMP_SYS(fchmod),
    SCMP_SYS(fcntl),
    SCMP_SYS(fdatasync),
    SCMP_SYS(flock),
    SCMP_SYS(fstat),
    SCMP_SYS(fstatfs),
    SCMP_SYS(fsync),
    SCMP_SYS(ftruncate),
    SCMP_SYS(getcwd),
    SCMP_SYS(getdents64),
    SCMP_SYS(link),
    SCMP_SYS(lseek),
    SCMP_SYS(lstat),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(open),
    SCMP_SYS(openat),
    SCMP_SYS(pread64),
    SCMP_SYS(preadv),
    SCMP_SYS(pwrite64),
    SCMP_SYS(pwritev),
    SCMP_SYS(read),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(readv),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(rmdir),
    SCMP_SYS(stat),
    SCMP_SYS(statfs),
    SCMP_SYS(statx),
    SCMP_SYS(symlink),
    SCMP_SYS(truncate),
    SCMP_SYS(umask),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(utimensat),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(copy_file_range),
    SCMP_SYS(sendfile),
    /* its channel, and waiting */
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(eventfd2),
    SCMP_SYS(pipe),
    SCMP_SYS(pipe2),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(pselect6),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(select),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendto),
};

static const int build_calls[] = {
    SCMP_SYS(execve), SCMP_SYS(fork),      SCMP_SYS(kill),          SCMP_SYS(vfork),
    SCMP_SYS(wait4),  SCMP_SYS(waitid),    SCMP_SYS(setpgid),       SCMP_SYS(setsid),
    SCMP_SYS(utime),  SCMP_SYS(setrlimit), SCMP_SYS(fchdir),        SCMP_SYS(pidfd_open),
    SCMP_SYS(utimes), SCMP_SYS(futimesat), SCMP_SYS(setitimer),     SCMP_SYS(alarm),
    SCMP_SYS(mlock),  SCMP_SYS(capget),    SCMP_SYS(rt_sigsuspend),
};

/* The driver listens on a socket of its own, to which no process in here may connect, and its
 * device files are used by ioctl. */
static int add_cuda_rules(scmp_filter_ctx context)
{
    static const int calls[] = {SCMP_SYS(ioctl), SCMP_SYS(bind), SCMP_SYS(listen),
                                SCMP_SYS(getsockname), SCMP_SYS(accept4)};
    int bad = seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                               SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
    for (size_t i = 0; i < COUNT(calls); i++)
        bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, calls[i], 0);
    return bad;
}

static int add_argument_rules(scmp_filter_ctx context, enum sandbox_filter filter)
{
    int bad = 0;
    bad |= seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (filter == FILTER_BUILD)
        bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                SCMP_A0(SCMP_CMP_MASKED_EQ,
                                        CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                            CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
                                        0));
    else
        bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                            SCMP_A2(SCMP_CMP_EQ, SIGABRT, 0));
    bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                            SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME, 0));
    bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                            SCMP_A0(SCMP_CMP_EQ, PR_GET_NAME, 0));
    bad |= seccomp_rule_add(context, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
                            SCMP_A0(SCMP_CMP_EQ, 0x53564d41, 0)); /* PR_SET_VMA: names for memory */
    bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                            SCMP_A2(SCMP_CMP_EQ, 0, 0)); /* reading limits */
    if (filter == FILTER_CUDA)
        return bad | add_cuda_rules(context);
    bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                            SCMP_A1(SCMP_CMP_EQ, TCGETS, 0));
    bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                            SCMP_A1(SCMP_CMP_EQ, FIOCLEX, 0));
    if (filter == FILTER_BUILD) /* a compiler driver raises its own stack limit */
        bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                                SCMP_A0(SCMP_CMP_EQ, 0, 0));
    return bad;
}

static int make_program(enum sandbox_filter filter, struct sock_fprog *program, struct err *err)
{
    int result = 0;
    char *bytes = NULL;
    size_t count = 0;
    int fd = -1;
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!context)
        return err_set(err, ERR_UNSUPPORTED, "libseccomp cannot start a filter");
    int bad = 0;
    for (size_t i = 0; i < COUNT(run_calls); i++)
        bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, run_calls[i], 0);
    if (filter == FILTER_BUILD)
        for (size_t i = 0; i < COUNT(build_calls); i++)
            bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, build_calls[i], 0);
    if (filter == FILTER_PROGRAM)
        bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(execve), 0);
    bad |= add_argument_rules(context, filter);
    bad |= seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (bad) {
        result = err_set(err, ERR_UNSUPPORTED, "libseccomp refuses a rule of the filter");
        goto out;
    }
    fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0 || seccomp_export_bpf(context, fd) < 0 || lseek(fd, 0, SEEK_SET) != 0) {
        result = err_sys(err, errno, "cannot export the filter");
        goto out;
    }
    result = file_read_fd(fd, "the filter", 1 << 20, &bytes, &count, err);
    if (result == 0)
        *program = (struct sock_fprog){
            .len = (unsigned short)(count / sizeof(struct sock_filter)),
            .filter = (struct sock_filter *)(void *)bytes,
        };
out:
    if (fd >= 0)
        close(fd);
    seccomp_release(context);
    return result;
}

/* Programs of this process, made on first use. Sandboxed processes are single-threaded here. */
static struct sock_fprog programs[FILTER_COUNT];

int sandbox_filter_prepare(struct err *err)
{
    for (int filter = FILTER_RUN; filter < FILTER_COUNT; filter++) {
        if (programs[filter].filter)
            continue;
        int result = make_program((enum sandbox_filter)filter, &programs[filter], err);
        if (result < 0)
            return result;
    }
    return 0;
}

int sandbox_filter_load(enum sandbox_filter filter, struct err *err)
{
    int result = sandbox_filter_prepare(err);
    if (result < 0)
        return result;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &programs[filter]) != 0)
        return err_sys(err, errno, "cannot load the system-call filter");
    return 0;
}

/* A filter of its own, because its program differs each time: of several, the strictest counts. */
int sandbox_filter_execute_at(const char *path, struct err *err)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    if (!context)
        return err_set(err, ERR_UNSUPPORTED, "libseccomp cannot start a filter");
    int bad = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(execve), 1,
                               SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)(uintptr_t)path, 0));
    if (bad == 0)
        bad = seccomp_load(context);
    seccomp_release(context);
    return bad ? err_sys(err, -bad, "cannot load the filter for execve") : 0;
}
