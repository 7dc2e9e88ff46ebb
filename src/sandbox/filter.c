/* filter: which system calls a sandboxed process may make. An allow-list; all else fails with
 * EPERM, so that a library which merely tries something goes on.
 *
 * FILTER_RUN     what computing needs: memory, threads, files (Landlock says which), its channel
 * FILTER_CUDA    the same, ioctl (which reaches the driver's device files) and a listening socket
 * FILTER_BUILD   the same and what starting a compiler needs
 * FILTER_PROGRAM FILTER_RUN and execve, which sandbox_filter_execute_at has reduced to one call
 *
 * Arguments are checked where the call alone says too little: clone only makes threads, tgkill only
 * aborts, prctl only names threads, fcntl arranges no signals, madvise and fallocate leave memory
 * that the judge shares as it is. clone3 hides its flags behind a
 * pointer: ENOSYS makes the C library fall back to clone. The program is made once per process (the
 * standby server makes it before it forks) and loaded with one system call. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"

/* Of madvise; newer C libraries guard stacks so. */
enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103 };

static const char run_calls[] =
    /* memory */
    "brk mbind get_mempolicy mincore mmap mprotect mremap munmap set_mempolicy "
    /* threads and time */
    "arch_prctl clock_getres clock_gettime clock_nanosleep exit exit_group futex "
    "get_robust_list getcpu gettid gettimeofday membarrier nanosleep restart_syscall rseq "
    "sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam "
    "sched_getscheduler sched_setaffinity sched_yield set_robust_list set_tid_address time "
    "times "
    /* signals to itself */
    "rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigtimedwait sigaltstack "
    /* own identity */
    "getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getrandom getresgid "
    "getresuid getrlimit getrusage getsid getuid sysinfo uname "
    /* files; Landlock and the sandbox's own root decide which */
    "access chdir close close_range dup dup2 dup3 faccessat faccessat2 fadvise64 "
    "fchmod fdatasync flock fstat fstatfs fsync ftruncate getcwd getdents64 link lseek "
    "lstat mkdir mkdirat newfstatat open openat pread64 preadv pwrite64 pwritev read readlink "
    "readlinkat readv rename renameat renameat2 rmdir stat statfs statx symlink truncate umask "
    "unlink unlinkat utimensat write writev chmod fchmodat copy_file_range sendfile "
    /* its channel, and waiting */
    "epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 pipe pipe2 poll ppoll pselect6 "
    "recvfrom recvmsg select sendmsg sendto ";

static const char build_calls[] =
    "execve fork kill vfork wait4 waitid setpgid setsid utime setrlimit fchdir pidfd_open "
    "utimes futimesat setitimer alarm mlock capget rt_sigsuspend ";

/* The driver listens on a socket of its own, to which no process in here may connect, and its
 * device files are used by ioctl. */
static const char cuda_calls[] = "ioctl bind listen getsockname accept4";

/* Each call of a list, whatever its arguments. Not 0: one of them is refused or unknown. */
static int allow_calls(scmp_filter_ctx context, const char *names)
{
    int bad = 0;
    for (size_t length; *names; names += length + strspn(names + length, " ")) {
        char name[32];
        length = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        int number = seccomp_syscall_resolve_name(name);
        bad |= number == __NR_SCMP_ERROR ||
               seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0) != 0;
    }
    return bad;
}

/* A call with each of these values in one argument, of which the kernel reads 32 bits. */
static int allow_values(scmp_filter_ctx context, int call, unsigned argument, const int *values,
                        size_t count)
{
    int bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= seccomp_rule_add(context, SCMP_ACT_ALLOW, call, 1,
                                SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, UINT32_MAX,
                                         (unsigned)values[i]));
    return bad;
}

/* What is usual, but not F_SETSIG, F_SETLEASE and F_NOTIFY: with those a message of the judge's, or
 * an opened file, would send SIGCONT, and that continues a stopped process. */
static int add_fcntl_rules(scmp_filter_ctx context)
{
    static const int commands[] = {
        F_DUPFD,      F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,     F_GETFL,     F_SETFL,
        F_GETLK,      F_SETLK,         F_SETLKW,    F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW,
        F_GETPIPE_SZ, F_SETPIPE_SZ,    F_ADD_SEALS, F_GET_SEALS,
    };
    return allow_values(context, SCMP_SYS(fcntl), 1, commands, COUNT(commands));
}

/* Not MADV_REMOVE, which takes pages from every process that shares them, MADV_COLLAPSE, which puts
 * the arguments of one process into large pages, off the clock, MADV_PAGEOUT and MADV_MERGEABLE,
 * which leave work to the kernel. */
static int add_madvise_rules(scmp_filter_ctx context)
{
    static const int advices[] = {
        MADV_NORMAL,        MADV_RANDOM,         MADV_SEQUENTIAL, MADV_WILLNEED,   MADV_DONTNEED,
        MADV_FREE,          MADV_DONTFORK,       MADV_DOFORK,     MADV_HUGEPAGE,   MADV_NOHUGEPAGE,
        MADV_DONTDUMP,      MADV_DODUMP,         MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_COLD,
        MADV_POPULATE_READ, MADV_POPULATE_WRITE, GUARD_INSTALL,   GUARD_REMOVE,
    };
    return allow_values(context, SCMP_SYS(madvise), 2, advices, COUNT(advices));
}

/* Not those that punch holes: a thread can keep the descriptor of the judge's memory. */
static int add_fallocate_rules(scmp_filter_ctx context)
{
    static const int modes[] = {0, FALLOC_FL_KEEP_SIZE};
    return allow_values(context, SCMP_SYS(fallocate), 1, modes, COUNT(modes));
}

static int add_argument_rules(scmp_filter_ctx context, enum sandbox_filter filter)
{
    int bad = add_fcntl_rules(context) | add_madvise_rules(context) | add_fallocate_rules(context);
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
        return bad | allow_calls(context, cuda_calls) |
               seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                                SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
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
    int bad = allow_calls(context, run_calls);
    if (filter == FILTER_BUILD)
        bad |= allow_calls(context, build_calls);
    if (filter == FILTER_PROGRAM)
        bad |= allow_calls(context, "execve");
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
