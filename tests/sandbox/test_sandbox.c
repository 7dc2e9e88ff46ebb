/* What a command in a SANDBOX_BUILD sandbox can do, and what it cannot: with all layers that this
 * machine has, and with each of them taken away in turn. Runs twice where it can: as root, and as
 * an ordinary user in a child of its own. tests/sandbox/probe.c is what tries. */
#include "sandbox/sandbox.h"

#include "../support/judging.h"
#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/paths.h"
#include "compile/compile.h"
#include "sandbox/runner.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BIT(layer) (1U << (layer))
#define ORDINARY_USER 1000
#define OUTPUT_BYTES 10000
#define BUSY_PROCESSES 1024
#define BUSY_NICE 17 /* between a command's in its first second and later */

static char *place;          /* holds everything below */
static char *probe;          /* in place/bin: readable inside */
static char *secret;         /* place/secret: a file that every user may read */
static char *open_directory; /* place/open: a directory that every user may write to */
static char *child_program;
static struct standby *standby;
static _Atomic int cancelled;
static uint32_t layers; /* that this machine gives, to this user */
static int listener = -1, abstract_listener = -1;
static char port[16], abstract_name[32];

struct result {
    int code;
    struct err err;
    struct outcome outcome;
    uint32_t layers;
};

static void result_deinit(struct result *result)
{
    outcome_deinit(&result->outcome);
}

struct trial {
    const char *const *argv, *const *environment;
    uint32_t forbid;
    int64_t timeout_ms;
    uint64_t memory_bytes, file_bytes;
};

static void run_command(const struct trial *trial, struct result *result)
{
    struct sandbox_runner runner;
    char *scratch = support_text("%s/scratch", place);
    char *programs = support_text("%s/bin", place);
    const char *readable[] = {programs, "/bin", "/usr", "/lib", "/lib64", NULL};
    struct command command = {.argv = trial->argv,
                              .environment = trial->environment,
                              .directory = scratch,
                              .readable = readable,
                              .timeout_ms = trial->timeout_ms ? trial->timeout_ms : 20000,
                              .memory_bytes = trial->memory_bytes,
                              .file_bytes = trial->file_bytes};
    *result = (struct result){0};
    assert_int_equal(mkdir(scratch, 0700), 0);
    outcome_init(&result->outcome, OUTPUT_BYTES);
    sandbox_runner_init(&runner, standby, (layers & ~trial->forbid) >> LAYER_MOUNT & 1, NULL,
                        &cancelled);
    runner.forbid = trial->forbid;
    result->code = runner.runner.run(&runner.runner, &command, &result->outcome, &result->err);
    result->layers = runner.layers;
    file_remove_tree(scratch);
}

/* What the probe says; a static buffer. */
static const char *run_probe(uint32_t forbid, const char *what, const char *argument)
{
    static char answer[300];
    struct result result;
    const char *argv[] = {probe, what, argument, NULL};
    run_command(&(struct trial){.argv = argv, .forbid = forbid}, &result);
    if (result.code < 0 || result.outcome.exit_code != 0)
        fail_msg("probe %s %s: %s, status %d, signal %d: %s", what, argument, result.err.text,
                 result.outcome.exit_code, result.outcome.signal, result.outcome.output.data);
    snprintf(answer, sizeof answer, "%.*s", (int)strcspn(result.outcome.output.data, "\n"),
             result.outcome.output.data);
    result_deinit(&result);
    return answer;
}

/* Processes by that name, anywhere. */
static int count_probes(void)
{
    int count = 0;
    DIR *stream = opendir("/proc");
    struct dirent *item;
    while (stream && (item = readdir(stream))) {
        char path[300];
        char name[32] = "";
        snprintf(path, sizeof path, "/proc/%s/comm", item->d_name);
        FILE *file = item->d_name[0] >= '0' && item->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        if (!file)
            continue;
        if (fgets(name, sizeof name, file))
            count += strncmp(name, strrchr(probe, '/') + 1, 15) == 0;
        fclose(file);
    }
    if (stream)
        closedir(stream);
    return count;
}

/* The kernel takes a namespace down when its first process is reaped, and not before. */
static void assert_no_probes(void)
{
    for (int i = 0; i < 2000 && count_probes() > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(count_probes(), 0);
}

/* Things that the sandbox must not reach, in this process and on this machine. */
static void open_listeners(void)
{
    snprintf(abstract_name, sizeof abstract_name, "warpgym-test-%d", (int)getpid());
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(listener, 4) == 0 && getsockname(listener, (struct sockaddr *)&address, &bytes) == 0)
        snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path + 1, abstract_name, strlen(abstract_name));
    abstract_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(abstract_listener, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract_name))) == 0)
        (void)!listen(abstract_listener, 4);
}

FIXTURE(open_all)
{
    struct err err = {0};
    const char *argv[] = {child_program, NULL};
    const char *const environment[] = {NULL};
    open_listeners();
    if (standby_open(&standby, argv, environment, 10000, NULL, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

FIXTURE(close_all)
{
    standby_close(standby);
    close(listener);
    close(abstract_listener);
    return 0;
}

TEST_GROUP(open_all, close_all);

/* First: the others ask what it found. */
TEST(layers)
{
    static const char *const names[] = {
#define X(symbol, name, meaning) name,
        SANDBOX_LAYERS(X)
#undef X
    };
    struct result result;
    const char *argv[] = {probe, "identity", NULL};
    run_command(&(struct trial){.argv = argv}, &result);
    assert_ok(result.code, &result.err);
    layers = result.layers;
    result_deinit(&result);
    if (sandbox_landlock_abi() > 0)
        layers |= BIT(LAYER_LANDLOCK);
    layers |= BIT(LAYER_SECCOMP);
    if (layers & BIT(LAYER_PROC))
        assert_string_equal(run_probe(0, "status", "Seccomp"), "2");
    for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
        if (!(layers >> i & 1))
            print_message("user %u: this machine has no %s\n", (unsigned)geteuid(), names[i]);
    assert_true(layers & BIT(LAYER_LIMITS));
    assert_true(layers & BIT(LAYER_NO_NEW_PRIVS));
    assert_true(layers & BIT(LAYER_SCRATCH));
    if (geteuid() == 0)
        assert_true(layers & BIT(LAYER_IDENTITY));
}

/* What must fail, and the layers each of which alone sees to it. */
struct attempt_row {
    const char *what, *argument;
    uint32_t held;
};

static uint32_t landlock_since(int abi)
{
    return sandbox_landlock_abi() >= abi ? BIT(LAYER_LANDLOCK) : 0;
}

static uint32_t root_only(uint32_t held)
{
    return geteuid() == 0 ? held : 0;
}

static size_t list_attempts(struct attempt_row rows[16], char judge[16])
{
    size_t count = 0;
    uint32_t paths = BIT(LAYER_MOUNT) | BIT(LAYER_LANDLOCK);
    char *inside = support_text("%s/new", open_directory);
    snprintf(judge, 16, "%d", (int)getpid());
    rows[count++] = (struct attempt_row){"connect", port,
                                         BIT(LAYER_NET) | BIT(LAYER_SECCOMP) | landlock_since(4)};
    rows[count++] = (struct attempt_row){"abstract", abstract_name,
                                         BIT(LAYER_NET) | BIT(LAYER_SECCOMP) | landlock_since(6)};
    rows[count++] = (struct attempt_row){"read", secret, paths};
    rows[count++] = (struct attempt_row){"read", "/etc/passwd", paths};
    rows[count++] = (struct attempt_row){"write", secret, paths};
    rows[count++] = (struct attempt_row){"write", inside, paths};
    rows[count++] = (struct attempt_row){"write", probe, paths};
    rows[count++] = (struct attempt_row){"signal", judge,
                                         BIT(LAYER_PID) | root_only(BIT(LAYER_IDENTITY)) |
                                             landlock_since(6)};
    rows[count++] = (struct attempt_row){"attach", judge,
                                         BIT(LAYER_PID) | BIT(LAYER_SECCOMP) | BIT(LAYER_LANDLOCK) |
                                             BIT(LAYER_IDENTITY)};
    rows[count++] = (struct attempt_row){"setuid", "", BIT(LAYER_IDENTITY) | BIT(LAYER_SECCOMP)};
    return count;
}

static void try_all(uint32_t forbid, const char *name)
{
    struct attempt_row rows[16];
    char judge[16];
    size_t count = list_attempts(rows, judge);
    for (size_t i = 0; i < count; i++) {
        if (!(layers & ~forbid & rows[i].held)) {
            print_message("user %u, without %s: nothing here keeps it from: %s %s\n",
                          (unsigned)geteuid(), name, rows[i].what, rows[i].argument);
            continue;
        }
        const char *answer = run_probe(forbid, rows[i].what, rows[i].argument);
        if (strncmp(answer, "refused: ", 9) != 0)
            fail_msg("without %s: %s %s: %s", name, rows[i].what, rows[i].argument, answer);
    }
    struct stat facts;
    char *inside = support_text("%s/new", open_directory);
    assert_int_equal(stat(inside, &facts), -1);
    assert_int_equal(stat(secret, &facts), 0);
    assert_int_equal(facts.st_size, 7);
}

TEST(fence)
{
    try_all(0, "nothing");
}

TEST(each_layer_missing)
{
    static const char *const names[] = {
#define X(symbol, name, meaning) name,
        SANDBOX_LAYERS(X)
#undef X
    };
    for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
        try_all(BIT(i), names[i]);
}

/* The last two that bound what it can call and whom it can reach: without both it must not run. */
TEST(refusal)
{
    struct result result;
    const char *argv[] = {probe, "identity", NULL};
    run_command(&(struct trial){.argv = argv, .forbid = BIT(LAYER_PID) | BIT(LAYER_SECCOMP)},
                &result);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.outcome.exit_code, 126);
    assert_non_null(
        strstr(result.outcome.output.data, "neither a system-call filter nor a process namespace"));
    result_deinit(&result);
}

static const char *make_call(const char *number)
{
    return run_probe(0, "syscall", number);
}

TEST(system_calls)
{
    judging_assert_refused(
        make_call,
        "ptrace mount umount2 pivot_root chroot unshare setns memfd_create bpf "
        "perf_event_open userfaultfd keyctl add_key request_key init_module finit_module "
        "kexec_load reboot swapon settimeofday clock_settime sethostname setuid setresuid "
        "setgroups capset personality socket socketpair connect bind process_vm_readv "
        "process_vm_writev pidfd_getfd io_uring_setup open_by_handle_at name_to_handle_at "
        "shmget msgget semget mq_open inotify_init1 fanotify_init quotactl acct vhangup "
        "clone3 seccomp landlock_restrict_self rt_sigqueueinfo tkill memfd_secret mknod "
        "chown");
}

TEST(shared_memory_stays_as_it_is)
{
    assert_string_equal(run_probe(0, "madvise", "4"), "done");            /* MADV_DONTNEED */
    assert_string_equal(run_probe(0, "madvise", "9"), "refused: EPERM");  /* MADV_REMOVE */
    assert_string_equal(run_probe(0, "madvise", "25"), "refused: EPERM"); /* MADV_COLLAPSE */
}

TEST(inside)
{
    char *own = support_text("%s", probe);
    assert_string_equal(run_probe(0, "read", own), "done");
    assert_string_equal(run_probe(0, "write", "file"), "done"); /* the scratch */
    assert_string_equal(run_probe(0, "read", "/dev/urandom"), "done");
    assert_string_equal(run_probe(0, "write", "/dev/null"), "done");
    assert_string_equal(run_probe(0, "descriptors", ""), "0");
    assert_string_equal(run_probe(0, "environment", ""), "0");
    assert_string_not_equal(run_probe(0, "identity", ""), "0");
    if (layers & BIT(LAYER_MOUNT)) {
        assert_string_equal(run_probe(0, "write", SANDBOX_SCRATCH "/a"), "done");
        if (strncmp(place, "/tmp/", 5) != 0) /* else a readable path lies there */
            assert_string_equal(run_probe(0, "write", "/tmp/a"), "done");
        assert_string_equal(run_probe(0, "write", "/a"), "refused: EROFS");
    }
    if (layers & BIT(LAYER_PROC)) {
        assert_string_equal(run_probe(0, "status", "NoNewPrivs"), "1");
        assert_string_equal(run_probe(0, "status", "CapEff"), "0000000000000000");
        assert_string_equal(run_probe(0, "status", "CapPrm"), "0000000000000000");
        assert_string_equal(run_probe(0, "entries", "/proc"), "1");
    }
}

TEST(command)
{
    struct result result;
    const char *shell[] = {"/bin/sh", "-c", "echo out; echo err >&2; pwd >/dev/null; exit 3", NULL};
    run_command(&(struct trial){.argv = shell}, &result);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.outcome.exit_code, 3);
    assert_int_equal(result.outcome.signal, 0);
    assert_string_equal(result.outcome.output.data, "out\nerr\n");
    assert_true(result.outcome.elapsed_ms > 0 && !result.outcome.timed_out);
    result_deinit(&result);

    const char *crash[] = {probe, "crash", NULL};
    run_command(&(struct trial){.argv = crash}, &result);
    assert_int_equal(result.outcome.signal, SIGSEGV);
    assert_int_equal(result.outcome.exit_code, -1);
    result_deinit(&result);

    const char *environment[] = {"A=b c", "D=", NULL};
    const char *ask[] = {probe, "environment", NULL};
    run_command(&(struct trial){.argv = ask, .environment = environment}, &result);
    assert_string_equal(result.outcome.output.data, "2 A=b c\n");
    result_deinit(&result);

    const char *missing[] = {"/nowhere/cc", NULL};
    run_command(&(struct trial){.argv = missing}, &result);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.outcome.exit_code, 126);
    assert_non_null(strstr(result.outcome.output.data, "/nowhere/cc: No such file"));
    result_deinit(&result);
}

TEST(too_many_arguments)
{
    const char *argv[700];
    struct result result;
    for (int i = 0; i < 699; i++)
        argv[i] = "/bin/true";
    argv[699] = NULL;
    run_command(&(struct trial){.argv = argv}, &result);
    assert_int_equal(result.code, ERR_LIMIT);
    result_deinit(&result);
}

TEST(bounds)
{
    struct result result;
    const char *allocate[] = {probe, "allocate", "256", NULL};
    run_command(&(struct trial){.argv = allocate, .memory_bytes = UINT64_C(64) << 20}, &result);
    assert_string_equal(result.outcome.output.data, "refused: ENOMEM\n");
    result_deinit(&result);
    run_command(&(struct trial){.argv = allocate, .memory_bytes = UINT64_C(1) << 30}, &result);
    assert_string_equal(result.outcome.output.data, "done\n");
    result_deinit(&result);

    /* each of eight files ends at its bound */
    const char *fill[] = {probe, "fill", "32", NULL};
    run_command(&(struct trial){.argv = fill, .file_bytes = UINT64_C(1) << 20}, &result);
    assert_int_equal(result.outcome.exit_code, 0);
    assert_in_range(strtoll(result.outcome.output.data, NULL, 10), 1 << 20, 8 << 20);
    result_deinit(&result);
}

TEST(fork_bomb)
{
    struct result result;
    const char *bomb[] = {probe, "fork", "3000", NULL};
    run_command(&(struct trial){.argv = bomb, .timeout_ms = 60000}, &result);
    assert_false(result.outcome.timed_out);
    assert_int_equal(result.outcome.exit_code, 0);
    assert_in_range(strtol(result.outcome.output.data, NULL, 10), 1, 512);
    result_deinit(&result);
    if (layers & BIT(LAYER_PID))
        assert_no_probes();
}

TEST(output_flood)
{
    struct result result;
    const char *argv[] = {probe, "flood", "64", NULL};
    run_command(&(struct trial){.argv = argv}, &result);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.outcome.exit_code, 0);
    assert_true(result.outcome.output.len <= OUTPUT_BYTES && result.outcome.output.cut);
    result_deinit(&result);
}

TEST(timeout)
{
    static const char *const whats[][2] = {{"loop", ""}, {"daemon", "wait"}, {"flood", "9999999"}};
    for (size_t i = 0; i < COUNT(whats); i++) {
        struct result result;
        const char *argv[] = {probe, whats[i][0], whats[i][1], NULL};
        run_command(&(struct trial){.argv = argv, .timeout_ms = 150}, &result);
        assert_int_equal(result.code, 0);
        assert_true(result.outcome.timed_out);
        assert_true(result.outcome.elapsed_ms >= 150);
        result_deinit(&result);
        if (layers & BIT(LAYER_PID))
            assert_no_probes();
    }
}

static void spin_for_ever(int niceness)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, niceness);
    for (volatile int turns = 0;; turns++) {
    }
}

/* It needs 1,400 ms of a processor, and on a machine that others keep busy many seconds for them:
 * its two are not over. */
TEST(busy_machine)
{
    pid_t others[BUSY_PROCESSES];
    long count = 2 * sysconf(_SC_NPROCESSORS_ONLN);
    struct result result;
    const char *argv[] = {probe, "spin", "1400", NULL};
    count = count < BUSY_PROCESSES ? count : BUSY_PROCESSES;
    for (long i = 0; i < count; i++)
        if ((others[i] = fork()) == 0)
            spin_for_ever(BUSY_NICE);
    run_command(&(struct trial){.argv = argv, .timeout_ms = 2000}, &result);
    for (long i = 0; i < count; i++)
        kill(others[i], SIGKILL);
    for (long i = 0; i < count; i++)
        waitpid(others[i], NULL, 0);
    if (result.code < 0)
        fail_msg("%s", result.err.text);
    assert_false(result.outcome.timed_out);
    assert_string_equal(result.outcome.output.data, "done\n");
    print_message("%.0f ms, of which it waited %.0f\n", result.outcome.elapsed_ms,
                  result.outcome.waited_ms);
    assert_true(result.outcome.elapsed_ms < 2000 || result.outcome.waited_ms > 0);
    result_deinit(&result);
}

/* What a command leaves behind goes when it does. */
TEST(daemon)
{
    assert_string_equal(run_probe(0, "daemon", ""), "done");
    if (layers & BIT(LAYER_PID))
        assert_no_probes();
}

TEST(cancel)
{
    struct result result;
    const char *argv[] = {probe, "loop", NULL};
    pthread_t thread = support_set_after(&cancelled, 100);
    run_command(&(struct trial){.argv = argv, .timeout_ms = 60000}, &result);
    pthread_join(thread, NULL);
    assert_int_equal(result.code, ERR_CANCELLED);
    assert_false(result.outcome.timed_out);
    result_deinit(&result);
    cancelled = 0;
    if (layers & BIT(LAYER_PID))
        assert_no_probes();
}

TEST(nothing_left)
{
    int before = judging_descriptors();
    siginfo_t info = {0};
    for (int i = 0; i < 10; i++)
        run_probe(i % 2 ? BIT(LAYER_MOUNT) : 0, "identity", "");
    assert_int_equal(judging_descriptors(), before);
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    assert_int_equal(info.si_pid, 0);
}

TEST(allowed_paths)
{
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);
    sandbox_init(sandbox, SANDBOX_BUILD);
    sandbox_allow(sandbox, "/usr");
    uint32_t bytes = sandbox->paths_bytes;
    assert_int_equal(bytes, 5);
    sandbox_allow(sandbox, "/usr");            /* there already */
    sandbox_allow(sandbox, "usr");             /* not absolute */
    sandbox_allow(sandbox, "/nowhere/at/all"); /* not there */
    assert_int_equal(sandbox->paths_bytes, bytes);
    sandbox_allow(sandbox, "/bin");
    assert_memory_equal(sandbox->paths, "/usr\0/bin", 10);
    for (int i = 0; i < 5000; i++) { /* full is full */
        char *path = support_text("/proc/self/./%0*d", 1 + i % 7, 0);
        sandbox_allow(sandbox, path);
    }
    assert_true(sandbox->paths_bytes <= SANDBOX_PATHS_BYTES);
    mem_free(sandbox);
}

/* One GPU's file where it is known which one, and none of them where there is no GPU to be. */
TEST(gpu_devices)
{
    static const struct {
        enum sandbox_kind kind;
        int32_t gpu;
        uint32_t count;
        const char *last;
    } rows[] = {
        {SANDBOX_NATIVE, 3, 0, ""},
        {SANDBOX_TORCH, -1, 0, ""},
        {SANDBOX_CUDA, 3, 3, "/dev/nvidia3"},
        {SANDBOX_TORCH_CUDA, 0, 3, "/dev/nvidia0"},
        {SANDBOX_CUDA, -1, 18, "/dev/nvidia15"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sandbox sandbox;
        char path[SANDBOX_DEVICE_BYTES] = "";
        uint32_t count = 0;
        sandbox_init(&sandbox, rows[i].kind);
        assert_int_equal(sandbox.gpu, -1);
        sandbox.gpu = rows[i].gpu;
        while (sandbox_gpu_device(&sandbox, count, path))
            count++;
        assert_int_equal(count, rows[i].count);
        assert_string_equal(path, rows[i].last);
    }
}

/* The child program and the probe where an ordinary user reaches them, too. */
static int make_place(void)
{
    struct err err = {0};
    struct toolchain toolchain;
    struct outcome outcome;
    place = support_directory();
    char *programs = support_text("%s/bin", place);
    probe = support_text("%s/probe-%d", programs, (int)getpid()); /* a name of its own in /proc */
    secret = support_text("%s/secret", place);
    open_directory = support_text("%s/open", place);
    char *original = support_keep(paths_child_program(&err));
    toolchain_init(&toolchain, NULL);
    int result = original && toolchain.cc ? 0 : -1;
    child_program = support_text("%s/warpgym-child", programs);
    if (mkdir(programs, 0755) < 0 || mkdir(open_directory, 0755) < 0)
        result = -1;
    const char *compile[] = {toolchain.cc, "-std=gnu17", "-D_GNU_SOURCE",         "-O1", "-static",
                             "-o",         probe,        "tests/sandbox/probe.c", NULL};
    const char *copy[] = {"/bin/cp", original, child_program, NULL};
    const char *path[] = {"PATH=/usr/bin:/bin", NULL};
    const char *const *commands[] = {compile, copy};
    for (int i = 0; result == 0 && i < 2; i++) {
        struct command command = {.argv = commands[i], .environment = path, .timeout_ms = 60000};
        outcome_init(&outcome, OUTPUT_BYTES);
        result = process_runner.run(&process_runner, &command, &outcome, &err);
        if (result == 0 && outcome.exit_code != 0) {
            print_error("%s\n", outcome.output.data);
            result = -1;
        }
        outcome_deinit(&outcome);
    }
    if (result == 0)
        result = file_write_atomic(secret, "secret\n", 7, 0666, &err);
    if (result == 0 &&
        (chmod(place, 0777) < 0 || chmod(open_directory, 0777) < 0 || chmod(secret, 0666) < 0))
        result = -1;
    if (result < 0)
        print_error("cannot prepare the tests: %s\n", err.text);
    toolchain_deinit(&toolchain);
    return result;
}

/* The same tests as a user that is not root. */
static int run_as_user(void)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (setresgid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) < 0 ||
            setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) < 0)
            _exit(1);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* or its own /proc belongs to root */
        if (access(child_program, X_OK) < 0) {
            print_message("no user %d: %s cannot be reached\n", ORDINARY_USER, place);
            _exit(0);
        }
        int failed = tests_run();
        fflush(NULL);
        _exit(failed != 0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status != 0;
}

int main(void)
{
    int failed = make_place();
    if (failed == 0 && geteuid() == 0)
        failed = run_as_user();
    if (failed >= 0)
        failed += tests_run();
    return failed != 0;
}
