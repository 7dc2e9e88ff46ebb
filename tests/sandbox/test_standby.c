/* Sandboxed processes as the judge holds them: made, stopped, read, ended, and never left behind.
 * The server is the native one; a child of it waits for OPEN on its channel until it is ended. */
#include "sandbox/standby.h"

#include "../support/judging.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/paths.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 20000 /* longer than anything takes, even here and now */

static char *child_program;
static struct sandbox *sandbox;
static struct standby *standby;

static void open_standby(struct standby **made)
{
    struct err err = {0};
    const char *argv[] = {child_program, NULL};
    const char *const environment[] = {NULL};
    assert_ok(standby_open(made, argv, environment, WAIT_MS, NULL, &err), &err);
}

FIXTURE(open_all)
{
    struct err err = {0};
    child_program = paths_child_program(&err);
    if (!child_program)
        fail_msg("%s", err.text);
    sandbox = mem_alloc(sizeof *sandbox);
    sandbox_init(sandbox, SANDBOX_NATIVE);
    open_standby(&standby);
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

static void spawn(struct standby *from, struct sandboxed *process)
{
    struct err err = {0};
    assert_ok(standby_spawn(from, sandbox, WAIT_MS, process, &err), &err);
}

/* As /proc/PID/stat has it behind the name; NUL when the process is gone. */
static char state_of(pid_t pid)
{
    char path[64];
    char line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    const char *at = strrchr(line, ')');
    return at ? at[2] : '\0';
}

/* Gone, or dead and waiting to be reaped. */
static bool vanished(pid_t pid)
{
    int64_t deadline_ns = clock_now_ns() + WAIT_MS * INT64_C(1000000);
    while (clock_now_ns() < deadline_ns) {
        char now = state_of(pid);
        if (now == '\0' || now == 'Z' || now == 'X')
            return true;
        support_pause(2);
    }
    return false;
}

static void assert_no_zombie(void)
{
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
        fail_msg("process %d has ended and was not reaped", (int)info.si_pid);
}

/* The higher, the sooner the kernel ends it where memory is used up. */
static long memory_score(pid_t pid)
{
    char text[32];
    FILE *file = fopen(support_text("/proc/%d/oom_score_adj", (int)pid), "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    return strtol(text, NULL, 10);
}

TEST(spawn)
{
    struct sandboxed process;
    assert_int_equal(standby_ready(standby, NULL), 0);
    spawn(standby, &process);
    assert_true(process.pid > 1 && process.channel > 2 && process.pid_fd > 2);
    assert_int_equal(sandboxed_stat(process.pid, 4), getpid());
    assert_true(process.layers & (1U << LAYER_LIMITS));
    assert_false(sandboxed_ended(&process));
    assert_false(process.frozen || process.reaped);
    assert_true(memory_score(process.pid) > memory_score(getpid()));
    assert_int_equal(fcntl(process.channel, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(process.pid_fd, F_GETFD), FD_CLOEXEC);
    pid_t pid = process.pid;
    sandboxed_close(&process);
    assert_int_equal(state_of(pid), '\0'); /* reaped: not even a zombie */
    assert_int_equal(process.pid, 0);
    sandboxed_close(&process); /* once more does nothing */
    struct sandboxed none = {0};
    sandboxed_close(&none);
    assert_no_zombie();
}

TEST(freeze)
{
    struct sandboxed process;
    spawn(standby, &process);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(sandboxed_freeze(&process, NULL), 0);
        assert_int_equal(state_of(process.pid), 'T');
        assert_int_equal(sandboxed_freeze(&process, NULL), 0); /* it is already */
        assert_true(process.frozen);
        sandboxed_thaw(&process);
        assert_false(process.frozen);
        assert_int_not_equal(state_of(process.pid), 'T');
        assert_false(sandboxed_ended(&process));
    }
    assert_int_equal(sandboxed_freeze(&process, NULL), 0);
    sandboxed_close(&process); /* a frozen one goes like any other */
    assert_no_zombie();
}

TEST(freeze_the_dead)
{
    struct sandboxed process;
    spawn(standby, &process);
    kill(process.pid, SIGKILL);
    assert_int_equal(sandboxed_freeze(&process, NULL), ERR_CRASH);
    assert_true(process.reaped && WIFSIGNALED(process.status));
    assert_int_equal(sandboxed_freeze(&process, NULL), ERR_CRASH);
    sandboxed_thaw(&process);
    sandboxed_close(&process);
    spawn(standby, &process); /* frozen, then killed */
    assert_int_equal(sandboxed_freeze(&process, NULL), 0);
    kill(process.pid, SIGKILL);
    assert_true(vanished(process.pid));
    sandboxed_thaw(&process);
    assert_int_equal(sandboxed_freeze(&process, NULL), ERR_CRASH);
    sandboxed_close(&process);
    assert_no_zombie();
}

/* A process that waits in vfork(2) cannot be stopped before its child is done. */
TEST(freeze_in_vfork)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct sandboxed process = {.channel = -1, .pid_fd = -1, .pid = fork()};
    if (process.pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* not vfork(3): thread sanitizers turn that into fork */
        if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
            (void)!write(ends[1], "x", 1);
            for (;;)
                pause();
        }
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(sandboxed_freeze(&process, NULL), ERR_TIMEOUT);
    assert_true(process.reaped && WTERMSIG(process.status) == SIGKILL);
    sandboxed_close(&process); /* and its session with it, because it has no process namespace */
    close(ends[0]);
    close(ends[1]);
    assert_no_zombie();
}

/* In system calls that no stop interrupts, of some 0.1 s each. */
static void stay_in_the_kernel(int ready)
{
    const size_t bytes = (size_t)4 << 30;
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (;;) {
        char answer = madvise(memory, bytes, MADV_POPULATE_READ) == 0 ? 'y' : 'n';
        if (ready >= 0)
            (void)!write(ready, &answer, 1);
        ready = -1;
    }
}

/* Each stop is soon enough, and all of them together are too late. */
TEST(freeze_what_computes_in_the_kernel)
{
    int ends[2];
    char answer;
    int result = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct sandboxed process = {.channel = -1, .pid_fd = -1, .pid = fork()};
    if (process.pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stay_in_the_kernel(ends[1]);
    }
    assert_int_equal(read(ends[0], &answer, 1), 1);
    for (int i = 0; answer == 'y' && result == 0 && i < 200; i++) {
        result = sandboxed_freeze(&process, NULL);
        sandboxed_thaw(&process);
        support_pause(2);
    }
    assert_int_equal(result, answer == 'y' ? ERR_TIMEOUT : 0); /* n: not before Linux 5.14 */
    sandboxed_close(&process);
    close(ends[0]);
    close(ends[1]);
    assert_no_zombie();
}

/* poll(2) on either descriptor wakes when it dies. */
TEST(death)
{
    for (int which = 0; which < 2; which++) {
        struct sandboxed process;
        spawn(standby, &process);
        struct pollfd wait = {.fd = which ? process.channel : process.pid_fd, .events = POLLIN};
        assert_int_equal(poll(&wait, 1, 0), 0);
        kill(process.pid, SIGKILL);
        assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
        while (!sandboxed_ended(&process))
            support_pause(2);
        assert_true(sandboxed_ended(&process)); /* stays so */
        assert_int_equal(WTERMSIG(process.status), SIGKILL);
        sandboxed_close(&process);
    }
    assert_no_zombie();
}

/* How one ends that was not killed: at its channel's end, or at an unknown message. */
TEST(exit)
{
    static const char *const texts[] = {"exited with status 0", "exited with status 1"};
    for (int nonsense = 0; nonsense < 2; nonsense++) {
        struct sandboxed process;
        char text[128];
        uint32_t message[16] = {8}; /* DONE is not the judge's to say */
        spawn(standby, &process);
        sandboxed_status_text(&process, text, sizeof text);
        assert_string_equal(text, "is still running");
        if (nonsense) {
            char *done = mem_alloc(4096);
            memcpy(done, message, sizeof message);
            assert_int_equal(send(process.channel, done, 4096, MSG_NOSIGNAL), 4096);
            mem_free(done);
        } else {
            shutdown(process.channel, SHUT_RDWR);
        }
        struct pollfd wait = {.fd = process.pid_fd, .events = POLLIN};
        assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
        assert_true(sandboxed_ended(&process));
        sandboxed_status_text(&process, text, sizeof text);
        assert_string_equal(text, texts[nonsense]);
        sandboxed_close(&process);
    }
}

TEST(status_text)
{
    static const struct {
        int status;
        const char *text;
    } rows[] = {
        {0, "exited with status 0"},
        {3 << 8, "exited with status 3"},
        {255 << 8, "exited with status 255"},
        {SIGSEGV, "was killed by SIGSEGV (Segmentation fault)"},
        {SIGSEGV | 0x80, "was killed by SIGSEGV (Segmentation fault)"}, /* with a core file */
        {SIGKILL, "was killed by SIGKILL (Killed)"},
        {SIGXCPU, "was killed by SIGXCPU (CPU time limit exceeded)"},
        {SIGSYS, "was killed by SIGSYS (Bad system call)"},
        {64, "was killed by signal 64"}, /* real-time signals have no name */
        {34, "was killed by signal 34"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sandboxed process = {.pid = 1, .reaped = true, .status = rows[i].status};
        char text[128];
        char cut[8];
        sandboxed_status_text(&process, text, sizeof text);
        assert_string_equal(text, rows[i].text);
        sandboxed_status_text(&process, cut, sizeof cut);
        assert_memory_equal(cut, rows[i].text, sizeof cut - 1);
        assert_int_equal(cut[sizeof cut - 1], '\0');
    }
}

/* A mapping that can be read, from the kernel's own list. */
static bool find_mapping(pid_t pid, const char *rights, uint64_t *low, uint64_t *high)
{
    char path[64];
    char line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *rest;
        *low = strtoull(line, &rest, 16);
        *high = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
        found = *rest == ' ' && strncmp(rest + 1, rights, 4) == 0 && strstr(rest, "warpgym-child");
    }
    if (file)
        fclose(file);
    return found;
}

TEST(read)
{
    struct sandboxed process;
    struct err err = {0};
    uint64_t low;
    uint64_t high;
    unsigned char bytes[4096];
    spawn(standby, &process);
    if (!find_mapping(process.pid, "r--p", &low, &high)) {
        sandboxed_close(&process);
        print_message("this machine does not show what a sandboxed process has mapped\n");
        return;
    }
    for (int frozen = 0; frozen < 2; frozen++) {
        assert_int_equal(sandboxed_read(&process, low, bytes, 4, &err), 0);
        assert_memory_equal(bytes, "\177ELF", 4);
        assert_int_equal(sandboxed_read(&process, high - 1, bytes, 1, &err), 0);
        assert_int_equal(sandboxed_read(&process, 0, bytes, 0, &err),
                         0); /* nothing is always there */
        static const uint64_t bad[] = {0,
                                       8,
                                       4096,
                                       UINT64_MAX,
                                       UINT64_MAX - 4095,
                                       UINT64_C(1) << 47,
                                       UINT64_C(1) << 63,
                                       UINT64_C(0x123456789000)};
        for (size_t i = 0; i < COUNT(bad); i++)
            if (sandboxed_read(&process, bad[i], bytes, 64, &err) != ERR_PROTOCOL)
                fail_msg("%#" PRIx64 ": %s", bad[i], err.text);
        assert_int_equal(sandboxed_freeze(&process, &err), 0);
    }
    kill(process.pid, SIGKILL);
    assert_true(vanished(process.pid));
    assert_int_not_equal(sandboxed_read(&process, low, bytes, 4, &err), 0);
    sandboxed_close(&process);
}

/* As where the machine's memory is short: the memory goes before the process can be reaped. */
TEST(read_of_one_that_is_killed)
{
    for (int round = 0; round < 40; round++) {
        struct sandboxed process;
        struct err err = {0};
        uint64_t low, high;
        char byte;
        int result;
        spawn(standby, &process);
        assert_true(find_mapping(process.pid, "rw-p", &low, &high));
        if (round % 2)
            assert_int_equal(sandboxed_freeze(&process, &err), 0);
        kill(process.pid, SIGKILL);
        while ((result = sandboxed_read(&process, low, &byte, 1, &err)) == 0)
            ;
        if (result != ERR_CRASH || !sandboxed_killed(&process))
            fail_msg("%d: %s", round, err.text);
        assert_int_equal(sandboxed_read(&process, low, &byte, 1, &err), ERR_CRASH);
        sandboxed_close(&process);
    }
}

/* The part that is there does not make up for the part that is not. */
TEST(read_across_the_end)
{
    struct sandboxed process;
    char *bytes = mem_alloc((size_t)1 << 24);
    uint64_t low;
    uint64_t high;
    spawn(standby, &process);
    if (find_mapping(process.pid, "rw-p", &low, &high)) {
        assert_int_equal(sandboxed_read(&process, low, bytes, (size_t)(high - low), NULL), 0);
        assert_int_equal(sandboxed_read(&process, low, bytes, (size_t)1 << 24, NULL), ERR_PROTOCOL);
    }
    sandboxed_close(&process);
    mem_free(bytes);
}

TEST(bad_sandbox)
{
    struct sandboxed process;
    struct err err = {0};
    struct sandbox *bad = mem_alloc(sizeof *bad);
    int before = judging_descriptors();
    sandbox_init(bad, SANDBOX_NATIVE);
    snprintf(bad->scratch, sizeof bad->scratch, "/nowhere/at/all");
    int result = standby_spawn(standby, bad, WAIT_MS, &process, &err);
    if (result == 0 && process.layers & (1U << LAYER_MOUNT))
        fail_msg("a sandbox without its scratch");
    if (result < 0)
        assert_non_null(strstr(err.text, "/nowhere/at/all"));
    sandboxed_close(&process);
    mem_free(bad);
    assert_int_equal(judging_descriptors(), before);
    assert_no_zombie();
    spawn(standby, &process); /* the server does not mind */
    sandboxed_close(&process);
}

TEST(bad_servers)
{
    static const struct {
        const char *const argv[3];
        int64_t timeout_ms; /* short only where it is waited out */
        int open, spawn;
        const char *says;
    } rows[] = {
        {{"/nowhere/server"}, WAIT_MS, ERR_IO, 0, "/nowhere/server: cannot start"},
        {{"/bin/true"}, WAIT_MS, 0, ERR_CRASH, "/bin/true: the standby server ended before"},
        {{"/bin/sleep", "1000"}, 200, 0, ERR_TIMEOUT, "/bin/sleep: the standby server did not"},
    };
    const char *const environment[] = {NULL};
    int before = judging_descriptors();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct standby *bad = NULL;
        struct sandboxed process;
        struct err err = {0};
        assert_int_equal(standby_open(&bad, rows[i].argv, environment, rows[i].timeout_ms, NULL,
                                      &err),
                         rows[i].open);
        if (bad) {
            assert_int_equal(standby_ready(bad, &err), rows[i].spawn);
            assert_int_equal(standby_spawn(bad, sandbox, rows[i].timeout_ms, &process, &err),
                             rows[i].spawn);
            sandboxed_close(&process);
        }
        assert_ok(strncmp(err.text, rows[i].says, strlen(rows[i].says)), &err);
        standby_close(bad);
    }
    standby_close(NULL);
    assert_int_equal(judging_descriptors(), before);
    assert_no_zombie();
}

/* A server that ends as long as `place`/works is not there, and notes each start in `place`/starts.
 */
static void open_failing(struct standby **made, const char *place, int64_t start_timeout_ms)
{
    struct err err = {0};
    const char *argv[] = {
        "/bin/sh",     "-c",  "echo start >>\"$1/starts\"; [ -e \"$1/works\" ] && exec \"$0\"",
        child_program, place, NULL};
    const char *const environment[] = {NULL};
    assert_ok(standby_open(made, argv, environment, start_timeout_ms, NULL, &err), &err);
    int result = standby_ready(*made, &err);
    while (result == ERR_TIMEOUT) /* a slow machine takes longer to end it */
        result = standby_ready(*made, &err);
    assert_int_equal(result, ERR_CRASH);
    support_write(place, "works", "");
}

/* Killed while it loaded, say. Its time to load is over soon; on a slow machine more than once. */
TEST(started_again)
{
    struct standby *own;
    struct sandboxed process;
    open_failing(&own, support_directory(), 100);
    int64_t deadline_ns = clock_now_ns() + WAIT_MS * INT64_C(1000000);
    while (standby_ready(own, NULL) < 0 && clock_now_ns() < deadline_ns)
        support_pause(2);
    spawn(own, &process);
    sandboxed_close(&process);
    standby_close(own);
    assert_no_zombie();
}

/* What never loads does not cost each call a start. */
TEST(not_started_at_once)
{
    struct standby *own;
    struct sandboxed process;
    struct err err = {0};
    char *place = support_directory();
    char *starts;
    size_t bytes;
    open_failing(&own, place, 3600000);
    assert_int_equal(standby_ready(own, &err), ERR_CRASH);
    assert_int_equal(standby_spawn(own, sandbox, WAIT_MS, &process, &err), ERR_CRASH);
    assert_non_null(strstr(err.text, "ended before it was ready"));
    assert_int_equal(standby_look(own), STANDBY_ENDED);
    standby_close(own);
    assert_ok(file_read(support_text("%s/starts", place), 4096, &starts, &bytes, &err), &err);
    assert_string_equal(starts, "start\n");
    mem_free(starts);
    assert_no_zombie();
}

/* The child of this process that is not `known`. */
static pid_t find_child(pid_t known)
{
    pid_t pids[2] = {0};
    (void)judging_children(pids, 2);
    return pids[0] == known ? pids[1] : pids[0];
}

TEST(server_death)
{
    struct standby *own;
    struct sandboxed process;
    struct sandboxed more;
    pid_t other = find_child(0); /* the server of the other tests */
    open_standby(&own);
    assert_int_equal(standby_ready(own, NULL), 0);
    pid_t server = find_child(other);
    assert_true(server > 0 && other > 0);
    spawn(own, &process);
    kill(server, SIGKILL);
    assert_true(vanished(server));
    spawn(own, &more); /* by a server that was started in its place */
    assert_false(sandboxed_ended(&more));
    sandboxed_close(&more);
    assert_false(sandboxed_ended(&process)); /* what the first one made lives on */
    assert_int_equal(sandboxed_freeze(&process, NULL), 0);
    standby_close(own);
    sandboxed_thaw(&process);
    assert_false(sandboxed_ended(&process));
    sandboxed_close(&process);
    assert_no_zombie();
}

/* Whatever ends the judge: its sandboxed processes, running and frozen, and its server go with
 * it. */
TEST(judge_death)
{
    pid_t pids[3] = {0};
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t judge = fork();
    if (judge == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct standby *own;
        struct sandboxed process[2];
        const char *argv[] = {child_program, NULL};
        const char *const environment[] = {NULL};
        if (standby_open(&own, argv, environment, WAIT_MS, NULL, NULL) < 0 ||
            standby_ready(own, NULL) < 0)
            _exit(1);
        pids[2] = find_child(0);
        for (int i = 0; i < 2; i++)
            if (standby_spawn(own, sandbox, WAIT_MS, &process[i], NULL) < 0)
                _exit(2);
        if (sandboxed_freeze(&process[1], NULL) < 0)
            _exit(3);
        pids[0] = process[0].pid;
        pids[1] = process[1].pid;
        (void)!write(ends[1], pids, sizeof pids);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], pids, sizeof pids), sizeof pids);
    close(ends[0]);
    for (int i = 0; i < 3; i++)
        assert_true(pids[i] > 1 && !strchr("ZX", state_of(pids[i])));
    kill(judge, SIGKILL);
    assert_int_equal(waitpid(judge, NULL, 0), judge);
    for (int i = 0; i < 3; i++) {
        assert_true(vanished(pids[i]));
        waitpid(pids[i], NULL, 0); /* this process is a subreaper: they may have become its own */
    }
    assert_no_zombie();
}

#define THREADS 4
#define SPAWNS 8

struct spawner {
    pthread_t thread;
    pid_t pids[SPAWNS];
    int failed;
    struct err err;
};

static void *spawn_many(void *argument)
{
    struct spawner *spawner = argument;
    for (int i = 0; i < SPAWNS; i++) {
        struct sandboxed process;
        if (standby_spawn(standby, sandbox, WAIT_MS, &process, &spawner->err) < 0 ||
            sandboxed_freeze(&process, &spawner->err) < 0)
            spawner->failed++;
        spawner->pids[i] = process.pid;
        sandboxed_thaw(&process);
        sandboxed_close(&process);
    }
    return NULL;
}

TEST(threads)
{
    struct spawner spawners[THREADS] = {0};
    int before = judging_descriptors();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&spawners[i].thread, NULL, spawn_many, &spawners[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(spawners[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (spawners[i].failed)
            fail_msg("%s", spawners[i].err.text);
        for (int k = 0; k < SPAWNS; k++)
            assert_int_equal(state_of(spawners[i].pids[k]), '\0');
    }
    assert_int_equal(judging_descriptors(), before);
    assert_no_zombie();
}

/* Many at once are many processes, each with a channel of its own. */
TEST(many_at_once)
{
    struct sandboxed process[12];
    int before = judging_descriptors();
    for (int i = 0; i < 12; i++) {
        spawn(standby, &process[i]);
        for (int k = 0; k < i; k++)
            assert_true(process[k].pid != process[i].pid && !sandboxed_ended(&process[k]));
    }
    assert_int_equal(judging_descriptors(), before + 24);
    kill(process[5].pid, SIGKILL);
    assert_true(vanished(process[5].pid));
    for (int i = 0; i < 12; i++)
        assert_int_equal(sandboxed_ended(&process[i]), i == 5);
    for (int i = 0; i < 12; i++)
        sandboxed_close(&process[i]);
    assert_int_equal(judging_descriptors(), before);
    assert_no_zombie();
}

static _Atomic int cancelled;

static void *cancel_now_and_then(void *stop)
{
    while (!*(_Atomic int *)stop) {
        nanosleep(&(struct timespec){.tv_nsec = 700000}, NULL);
        cancelled = !cancelled;
    }
    return NULL;
}

/* Whenever a spawn is cancelled, the next one gets its own answer, and no process is left
 * unreaped. */
TEST(cancelled_spawns)
{
    struct standby *own;
    struct err err = {0};
    const char *argv[] = {child_program, NULL};
    const char *const environment[] = {NULL};
    pthread_t thread;
    siginfo_t info = {0};
    _Atomic int stop = 0;
    assert_int_equal(standby_open(&own, argv, environment, WAIT_MS, &cancelled, &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_now_and_then, &stop), 0);
    for (int i = 0; i < 100; i++) {
        struct sandboxed process;
        int result = standby_spawn(own, sandbox, WAIT_MS, &process, &err);
        if (result == 0)
            sandboxed_close(&process);
        else if (result != ERR_CANCELLED)
            fail_msg("spawn %d: %s", i, err.text);
    }
    stop = 1;
    pthread_join(thread, NULL);
    cancelled = 0;
    struct sandboxed process;
    assert_int_equal(standby_spawn(own, sandbox, WAIT_MS, &process, &err), 0);
    sandboxed_close(&process);
    standby_close(own);
    (void)waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    assert_int_equal(info.si_pid, 0);
}
