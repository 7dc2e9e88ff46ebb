/* What a process finds in its sandbox is what its layers say: namespaces and resource limits, those
 * that could not be set too. */
#include "sandbox/sandbox.h"

#include "../support/test.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 20000

static char *child_program;
static struct sandbox *sandbox;
static struct standby *standby;

static int open_standby(struct standby **made, struct err *err)
{
    const char *argv[] = {child_program, NULL};
    const char *const environment[] = {NULL};
    return standby_open(made, argv, environment, WAIT_MS, NULL, err);
}

FIXTURE(open_all)
{
    struct err err = {0};
    child_program = paths_child_program(&err);
    if (!child_program || open_standby(&standby, &err) < 0)
        fail_msg("%s", err.text);
    sandbox = mem_alloc(sizeof *sandbox);
    sandbox_init(sandbox, SANDBOX_NATIVE);
    return 0;
}

FIXTURE(close_all)
{
    standby_close(standby);
    mem_free(child_program);
    mem_free(sandbox);
    return 0;
}

TEST_GROUP(open_all, close_all);

static void spawn(struct sandboxed *process)
{
    struct err err = {0};
    assert_ok(standby_spawn(standby, sandbox, WAIT_MS, process, &err), &err);
}

/* What a layer says of a namespace is what the kernel says of the process. */
TEST(namespaces)
{
    static const struct {
        enum sandbox_layer layer;
        const char *name;
    } rows[] = {{LAYER_USER, "user"}, {LAYER_PID, "pid"}, {LAYER_MOUNT, "mnt"},
                {LAYER_NET, "net"},   {LAYER_IPC, "ipc"}, {LAYER_UTS, "uts"}};
    for (int forbidden = 0; forbidden < 2; forbidden++) {
        struct sandboxed process;
        sandbox->forbid = forbidden ? 1U << LAYER_UTS : 0;
        spawn(&process);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            char path[64], ours[64] = "", its[64] = "";
            snprintf(path, sizeof path, "/proc/self/ns/%s", rows[i].name);
            assert_true(readlink(path, ours, sizeof ours - 1) > 0);
            snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)process.pid, rows[i].name);
            assert_true(readlink(path, its, sizeof its - 1) > 0);
            if ((strcmp(ours, its) != 0) != (process.layers >> rows[i].layer & 1))
                fail_msg("%s namespace: %s, ours is %s, layers %#x", rows[i].name, its, ours,
                         (unsigned)process.layers);
        }
        if (forbidden)
            assert_false(process.layers >> LAYER_UTS & 1);
        sandboxed_close(&process);
    }
    sandbox->forbid = 0;
}

static int hinder_nothing(void)
{
    return 0;
}

static int lower_open_files(void)
{
    return setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 100, .rlim_max = 100});
}

/* As a kernel does that lacks these limits. */
static int refuse_two_limits(void)
{
    static const unsigned refused[] = {RLIMIT_CORE, RLIMIT_MSGQUEUE};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int result = 0;
    for (int i = 0; i < 2; i++)
        result |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 2,
                                   SCMP_A1(SCMP_CMP_EQ, refused[i]), SCMP_A2(SCMP_CMP_NE, 0));
    result |= seccomp_load(filter);
    seccomp_release(filter);
    return result;
}

struct limited {
    uint32_t layers;
    unsigned long long files, locked; /* hard limits */
};

/* Of /proc/PID/limits; another user's are not to be had by prlimit(2). */
static unsigned long long hard_limit(pid_t pid, const char *name)
{
    char path[64], line[256];
    unsigned long long value = 0;
    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *at = line + strlen(name);
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        at += strspn(at, " ");
        at += strcspn(at, " "); /* the soft limit */
        value = strtoull(at, NULL, 10);
    }
    if (file)
        fclose(file);
    return value;
}

/* In a judge of its own, which `hinder` has prepared: the limits of one process. */
static void spawn_under(int (*hinder)(void), struct limited *found)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t judge = fork();
    if (judge == 0) {
        struct standby *own;
        struct sandboxed process;
        if (hinder() != 0 || open_standby(&own, NULL) < 0 ||
            standby_spawn(own, sandbox, WAIT_MS, &process, NULL) < 0)
            _exit(1);
        found->layers = process.layers;
        found->files = hard_limit(process.pid, "Max open files");
        found->locked = hard_limit(process.pid, "Max locked memory");
        if (write(ends[1], found, sizeof *found) != (ssize_t)sizeof *found)
            _exit(2);
        sandboxed_close(&process);
        standby_close(own);
        _exit(0);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], found, sizeof *found);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(judge, &status, 0), judge);
    assert_int_equal(status, 0);
    assert_int_equal(got, sizeof *found);
}

/* A limit of the judge's own that is lower bounds as well; one that cannot be set is named, and the
 * others are set all the same. */
TEST(limits)
{
    const struct {
        int (*hinder)(void);
        bool held;
        uint32_t failed;
        unsigned long long files;
    } rows[] = {
        {hinder_nothing, true, 0, 256},
        {lower_open_files, true, 0, 100},
        {refuse_two_limits, false,
         SANDBOX_LIMIT_FAILED(LIMIT_CORE) | SANDBOX_LIMIT_FAILED(LIMIT_MESSAGE_QUEUES), 256},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct limited found;
        spawn_under(rows[i].hinder, &found);
        assert_int_equal(found.layers >> LAYER_LIMITS & 1, rows[i].held);
        for (int limit = 0; limit < SANDBOX_LIMIT_COUNT; limit++) {
            bool failed = rows[i].failed & SANDBOX_LIMIT_FAILED(limit);
            assert_int_equal((found.layers & SANDBOX_LIMIT_FAILED(limit)) != 0, failed);
            assert_int_equal(sandbox_limit_missing(found.layers, limit) != NULL, failed);
        }
        assert_int_equal(found.files, rows[i].files);
        assert_in_range(found.locked, 1, 65536);
    }
}
