/* One child at a time: what a native candidate's process can do, and what the judge makes of what
 * it says. tests/sandbox/probe.c is the candidate; its input and output are texts. */
#include "judge/process/call.h"
#include "judge/process/child.h"
#include "judge/process/cpu_affinity.h"
#include "sandbox/processor_time.h"

#include "../support/judging.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/paths.h"
#include "compile/compile.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIT(layer) (1U << (layer))
#define TEXT_BYTES 256
#define TIMEOUT_MS 20000
#define TIME_LIMIT ((struct time_limit){.ms = TIMEOUT_MS})

static char *place;
static char *secret;
static struct toolchain toolchain;
static struct standby *standby;
static struct sandbox *sandbox;
static struct child child;
static uint32_t layers; /* that this machine gives */

/* The shared object, as sealed memory. */
static int compile_text(const char *name, const char *define)
{
    struct err err = {0};
    struct outcome outcome;
    char *object = mem_printf("%s/object.so", place);
    const char *argv[] = {toolchain.cc, "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-shared",
                          "-fPIC",      "-Isrc",      define,          "-o",  object,
                          name,         NULL};
    const char *environment[] = {"PATH=/usr/bin:/bin", NULL};
    struct command command = {.argv = argv, .environment = environment, .timeout_ms = 60000};
    char *bytes = NULL;
    size_t count = 0;
    outcome_init(&outcome, 10000);
    if (process_runner.run(&process_runner, &command, &outcome, &err) < 0 ||
        outcome.exit_code != 0 || file_read(object, (size_t)1 << 24, &bytes, &count, &err) < 0)
        fail_msg("%s%s", err.text, outcome.output.data);
    int fd = file_memory_from("artifact", bytes, count, &err);
    assert_true(fd >= 0);
    outcome_deinit(&outcome);
    mem_free(bytes);
    mem_free(object);
    return fd;
}

static int compile_source_text(const char *text)
{
    char *path = mem_printf("%s/source.c", place);
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), 0);
    int fd = compile_text(path, "-DCANDIDATE");
    mem_free(path);
    return fd;
}

static int call(uint32_t mode, int64_t timeout_ms, struct child_time *time, struct err *err)
{
    const struct child_call call = {.mode = mode, .limit = {.ms = timeout_ms}};
    return child_call(&child, &call, time, err);
}

static int open_child(int artifact, struct err *err)
{
    struct wire_open open = {.type = WIRE_OPEN, .role = WIRE_CANDIDATE, .threads = 1};
    struct child_start start = {.standby = standby,
                                .sandbox = sandbox,
                                .message = &open,
                                .descriptors = &artifact,
                                .descriptor_count = 1,
                                .limit = {.ms = TIMEOUT_MS}};
    int result = child_open(&child, &start, NULL, err);
    child.kind = CHILD_NATIVE;
    return result;
}

static struct layout text_layout(void)
{
    return (struct layout){
        .count = 2,
        .bytes = 4096,
        .arguments = {{.role = ROLE_IN, .dtype = DTYPE_U8, .count = TEXT_BYTES},
                      {.role = ROLE_OUT, .dtype = DTYPE_U8, .offset = 1024, .count = TEXT_BYTES}}};
}

static void open_ready(int artifact)
{
    struct err err = {0};
    struct layout layout = text_layout();
    if (open_child(artifact, &err) < 0 ||
        child_map(&child, &layout, &layout, 1, false, TIME_LIMIT, &err) < 0)
        fail_msg("%s %s", err.text, child.failed.text);
}

static int probe_object = -1;

/* What the probe says, from inside; lies in the slot. */
static const char *ask(const char *what, const char *argument)
{
    struct err err = {0};
    struct child_time time;
    struct tensor tensor = {0};
    snprintf(child.slot.data, TEXT_BYTES, "%s %s", what, argument);
    memset(child.slot.data + 1024, 0, TEXT_BYTES);
    if (call(WIRE_RUN, TIMEOUT_MS, &time, &err) < 0 ||
        child_output(&child, 0, 0, &tensor, &err) < 0)
        fail_msg("%s %s: %s", what, argument, err.text);
    return tensor.data;
}

FIXTURE(open_all)
{
    struct err err = {0};
    place = support_directory();
    secret = support_text("%s/secret", place);
    toolchain_init(&toolchain, NULL);
    char *program = paths_child_program(&err);
    const char *argv[] = {program, NULL};
    const char *const environment[] = {NULL};
    if (!program || !toolchain.cc ||
        standby_open(&standby, argv, environment, TIMEOUT_MS, NULL, &err) < 0 ||
        file_write_atomic(secret, "secret\n", 7, 0666, &err) < 0)
        fail_msg("cannot prepare: %s", err.text);
    mem_free(program);
    sandbox = mem_alloc(sizeof *sandbox);
    sandbox_init(sandbox, SANDBOX_NATIVE);
    chmod(place, 0755);
    chmod(secret, 0666);
    probe_object = compile_text("tests/sandbox/probe.c", "-DPROBE_SOLUTION");
    open_ready(probe_object);
    layers = child.process.layers;
    child_close(&child);
    return 0;
}

FIXTURE(close_all)
{
    close(probe_object);
    standby_close(standby);
    toolchain_deinit(&toolchain);
    mem_free(sandbox);
    return 0;
}

TEST_GROUP(open_all, close_all);

FIXTURE(reset)
{
    child_close(&child);
    sandbox_init(sandbox, SANDBOX_NATIVE);
    return 0;
}

TEST_EACH(NULL, reset);

static void try_all(uint32_t forbid)
{
    char judge[16];
    uint32_t paths = BIT(LAYER_MOUNT) | BIT(LAYER_LANDLOCK);
    uint32_t filter = BIT(LAYER_SECCOMP);
    snprintf(judge, sizeof judge, "%d", (int)getpid());
    const struct {
        const char *what, *argument;
        uint32_t held;
    } rows[] = {
        {"connect", "1", BIT(LAYER_NET) | filter},
        {"abstract", "absent", BIT(LAYER_NET) | filter},
        {"read", "/etc/passwd", paths},
        {"read", secret, paths},
        {"write", secret, paths},
        {"write", "/dev/shm/warpgym-test", paths},
        {"signal", judge, BIT(LAYER_PID) | filter},
        {"attach", judge, BIT(LAYER_PID) | filter | BIT(LAYER_LANDLOCK) | BIT(LAYER_IDENTITY)},
        {"setuid", "", BIT(LAYER_IDENTITY) | filter},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!(layers & ~forbid & rows[i].held)) {
            print_message("without %#x: nothing here keeps it from: %s %s\n", forbid, rows[i].what,
                          rows[i].argument);
            continue;
        }
        const char *answer = ask(rows[i].what, rows[i].argument);
        if (strncmp(answer, "refused: ", 9) != 0)
            fail_msg("without %#x: %s %s: %s", forbid, rows[i].what, rows[i].argument, answer);
    }
}

/* Where there are no mounts, scratch is a directory that the judge makes. */
static void host_scratch(void)
{
    snprintf(sandbox->scratch, sizeof sandbox->scratch, "%s/scratch", place);
    assert_int_equal(mkdir(sandbox->scratch, 0700), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(sandbox->scratch, SANDBOX_NOBODY, SANDBOX_NOBODY), 0);
}

TEST(fence)
{
    for (int i = -1; i < SANDBOX_LAYER_COUNT; i++) {
        sandbox_init(sandbox, SANDBOX_NATIVE);
        sandbox->forbid = i < 0 ? 0 : BIT(i);
        if (i == LAYER_MOUNT)
            host_scratch();
        open_ready(probe_object);
        try_all(sandbox->forbid);
        child_close(&child);
        assert_false(sandbox->scratch[0] &&
                     file_exists(sandbox->scratch)); /* it goes with the child */
    }
}

TEST(no_fence_at_all)
{
    sandbox->forbid = BIT(LAYER_PID) | BIT(LAYER_SECCOMP);
    assert_int_equal(open_child(probe_object, NULL), ERR_INPUT);
    assert_int_equal(child.failed.failure, FAILED_LOAD); /* the judge finds out by itself */
    assert_non_null(strstr(child.failed.text, "neither a system-call filter"));
}

static const char *make_call(const char *number)
{
    return ask("syscall", number);
}

TEST(system_calls)
{
    open_ready(probe_object);
    if (!(child.process.layers & BIT(LAYER_SECCOMP))) {
        print_message("this machine has no seccomp filter\n");
        return;
    }
    judging_assert_refused(
        make_call,
        "fork vfork clone3 execve execveat kill tkill wait4 ptrace mount unshare setns "
        "socket socketpair memfd_create bpf userfaultfd keyctl process_vm_readv "
        "pidfd_getfd pidfd_open io_uring_setup setsid setitimer alarm timer_create prctl "
        "seccomp personality perf_event_open modify_ldt shmget mq_open inotify_init1 "
        "signalfd4 timerfd_create pidfd_send_signal rt_sigqueueinfo chroot setuid");
    assert_string_equal(ask("fork", "4"), "0");
}

/* A signal that the kernel sends for it could be SIGCONT. */
TEST(no_signals_by_fcntl)
{
    static const int refused[] = {F_SETOWN, 10 /* F_SETSIG */, 15 /* F_SETOWN_EX */,
                                  1024 /* F_SETLEASE */, 1026 /* F_NOTIFY */};
    char command[16];
    open_ready(probe_object);
    for (size_t i = 0; i < COUNT(refused); i++) {
        snprintf(command, sizeof command, "%d", refused[i]);
        if (child.process.layers & BIT(LAYER_SECCOMP))
            assert_string_equal(ask("fcntl", command), "refused: EPERM");
    }
    snprintf(command, sizeof command, "%d", F_GETFD);
    assert_string_equal(ask("fcntl", command), "done");
}

TEST(inside)
{
    open_ready(probe_object);
    assert_string_equal(ask("descriptors", ""), "1"); /* its channel */
    assert_string_not_equal(ask("identity", ""), "0");
    assert_string_equal(ask("read", "/dev/urandom"), "done");
    assert_string_equal(ask("write", "file"), "done");
    if (layers & BIT(LAYER_MOUNT)) {
        assert_string_equal(ask("write", "/tmp/file"), "done");
        assert_string_equal(ask("write", "/file"), "refused: EROFS");
        assert_string_equal(ask("read", "/bin/sh"), "refused: ENOENT");
        assert_string_equal(ask("read", "/usr/lib"), "refused: ENOENT");
    }
    if (layers & BIT(LAYER_PROC)) {
        assert_string_equal(ask("status", "Seccomp"), "2");
        assert_string_equal(ask("status", "NoNewPrivs"), "1");
        assert_string_equal(ask("status", "CapEff"), "0000000000000000");
        assert_string_equal(ask("entries", "/proc"), "1");
    }
}

TEST(bounds)
{
    sandbox->scratch_bytes = UINT64_C(1) << 20;
    sandbox->memory_bytes = UINT64_C(64) << 20;
    open_ready(probe_object);
    assert_string_equal(ask("allocate", "256"), "refused: ENOMEM");
    assert_string_equal(ask("allocate", "8"), "done");
    long long filled = strtoll(ask("fill", "64"), NULL, 10);
    long long most = layers & BIT(LAYER_MOUNT) ? 1 << 20 : 8 << 20; /* each file, all files */
    assert_in_range(filled, 1 << 16, most);
}

/* Scratch is one process's own: what one leaves, the next does not find. */
TEST(private_scratch)
{
    for (int i = 0; i < 2; i++) {
        open_ready(probe_object);
        if (!(child.process.layers & BIT(LAYER_SCRATCH)))
            print_message("this machine has no private scratch\n");
        else if (layers & BIT(LAYER_MOUNT))
            assert_string_equal(ask("read", SANDBOX_SCRATCH "/left"), "refused: ENOENT");
        assert_string_equal(ask("write", "left"), "done");
        child_close(&child);
    }
}

TEST(bad_artifacts)
{
    static const struct {
        const char *bytes;
        size_t count;
    } rows[] = {{"x", 1}, {"\177ELF", 4}, {"\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0", 20}};
    int before = judging_descriptors();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        int fd = file_memory_from("artifact", rows[i].bytes, rows[i].count, &err);
        assert_int_equal(open_child(fd, &err), ERR_INPUT);
        assert_int_equal(child.failed.failure, FAILED_LOAD);
        assert_non_null(strstr(err.text, "cannot load the shared object"));
        assert_int_equal(child.process.layers, layers);
        close(fd);
        child_close(&child);
    }
    assert_int_equal(judging_descriptors(), before);
}

TEST(call_and_map)
{
    int before = judging_descriptors();
    open_ready(probe_object);
    for (int i = 0; i < 5; i++) { /* a block after the other, each fresh */
        struct layout layout = text_layout();
        struct child_time time;
        struct tensor tensor;
        layout.bytes = 4096 << i;
        assert_int_equal(child_map(&child, &layout, &layout, 1, false, TIME_LIMIT, NULL), 0);
        assert_string_equal(ask("write", "/dev/null"), "done");
        assert_true(child.process.frozen);
        assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &time, NULL), 0);
        assert_true(time.ms > time.own_ms && time.own_ms > 0 && time.stop_ms > 0);
        assert_int_equal(child_output_count(&child), 1);
        assert_int_equal(child_output(&child, 0, 1, &tensor, NULL), ERR_INTERNAL);
        assert_int_equal(child_output(&child, 0, 0, &tensor, NULL), 0);
        assert_true(tensor.dtype == DTYPE_U8 && tensor.count == TEXT_BYTES &&
                    child.breach == CHILD_KEPT_STILL);
    }
    child_close(&child);
    assert_int_equal(judging_descriptors(), before);
    struct child none = {0};
    child_close(&none);
    assert_int_equal(judging_descriptors(), before);
}

/* Until the child, which nothing asked to, has run for so long. */
static void continue_for(int64_t ran_ns)
{
    int64_t deadline_ns = clock_now_ns() + TIMEOUT_MS * INT64_C(1000000);
    kill(child.process.pid, SIGCONT);
    int64_t before_ns = processor_time_ns(child.process.pid);
    while (processor_time_ns(child.process.pid) - before_ns < ran_ns &&
           clock_now_ns() < deadline_ns)
        usleep(1000);
    kill(child.process.pid, SIGSTOP);
}

TEST(running_ahead_is_on_its_clock)
{
    enum { AHEAD_MS = 50 };
    struct child_time still;
    struct child_time ahead;
    int object = compile_source_text("#include <pthread.h>\n"
                                     "static void *spin(void *p) { for (;;) ; return p; }\n"
                                     "void solution(const char *x, char *y)\n"
                                     "{ static pthread_t t; y[0] = x[0];\n"
                                     "  if (!t) pthread_create(&t, 0, spin, 0); }\n");
    open_ready(object);
    assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &still, NULL), 0);
    sandboxed_mark_idle(&child.process);
    usleep(AHEAD_MS * 1000);
    assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &still, NULL), 0);
    sandboxed_mark_idle(&child.process);
    continue_for(AHEAD_MS * INT64_C(1000000));
    assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &ahead, NULL), 0);
    assert_true(ahead.ahead_ms >= AHEAD_MS && ahead.ms >= ahead.ahead_ms);
    assert_true(still.ahead_ms == 0);
    kill(child.process.pid, SIGCONT);
    usleep(AHEAD_MS * 1000);
    int64_t ran_ns = sandboxed_ran_ns(&child.process); /* which ends it */
    usleep(AHEAD_MS * 1000);
    assert_true(ran_ns > 0);
    assert_int_equal(sandboxed_ran_ns(&child.process), ran_ns);
    child_close(&child);
    close(object);
}

/* The thread that is not its first. */
static pid_t second_thread(void)
{
    char *path = mem_printf("/proc/%d/task", child.process.pid);
    DIR *threads = opendir(path);
    pid_t found = 0;
    assert_non_null(threads);
    for (struct dirent *entry; (entry = readdir(threads));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        found = thread > 0 && thread != child.process.pid ? thread : found;
    }
    closedir(threads);
    mem_free(path);
    return found;
}

static bool is_on(pid_t thread, int processor)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(thread, sizeof set, &set), 0);
    return CPU_COUNT(&set) == 1 && CPU_ISSET(processor, &set);
}

/* Its threads are placed before its inputs come, and not again on its clock. */
TEST(threads_are_placed_before_a_call)
{
    struct cpu_affinity affinity;
    struct child_time time;
    int object = compile_source_text("#include <pthread.h>\n#include <unistd.h>\n"
                                     "static void *rest(void *p) { for (;;) pause(); return p; }\n"
                                     "void solution(const char *x, char *y)\n"
                                     "{ static pthread_t t; y[0] = x[0];\n"
                                     "  if (!t) pthread_create(&t, 0, rest, 0); }\n");
    open_ready(object);
    assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &time, NULL), 0);
    cpu_affinity_pin(&affinity, 0);
    child.affinity = &affinity;
    if (affinity.processor >= 0 && CPU_COUNT(&affinity.usable) > 1) {
        pid_t thread = second_thread();
        cpu_set_t elsewhere;
        assert_int_equal(child_prepare_call(&child, &TIME_LIMIT, NULL), 0);
        assert_true(is_on(child.process.pid, affinity.processor));
        assert_false(is_on(thread, affinity.processor));
        CPU_ZERO(&elsewhere);
        CPU_SET(affinity.processor, &elsewhere);
        assert_int_equal(sched_setaffinity(thread, sizeof elsewhere, &elsewhere), 0);
        assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &time, NULL), 0);
        assert_true(is_on(thread, affinity.processor));
        assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &time, NULL), 0);
        assert_false(is_on(thread, affinity.processor));
    }
    cpu_affinity_unpin(&affinity);
    child_close(&child);
    close(object);
}

static _Atomic int cancelled;

TEST(call_ends)
{
    struct err err = {0};
    struct child_time time;
    open_ready(probe_object);
    snprintf(child.slot.data, TEXT_BYTES, "loop ");
    assert_int_equal(call(WIRE_RUN, 100, &time, &err), ERR_TIMEOUT);
    child_close(&child);

    open_ready(probe_object);
    child.cancelled = &cancelled;
    snprintf(child.slot.data, TEXT_BYTES, "loop ");
    pthread_t thread = support_set_after(&cancelled, 50);
    assert_int_equal(call(WIRE_RUN, 60000, &time, &err), ERR_CANCELLED);
    pthread_join(thread, NULL);
    cancelled = 0;
    child_close(&child);

    open_ready(probe_object);
    snprintf(child.slot.data, TEXT_BYTES, "crash ");
    assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &time, &err), ERR_CRASH);
    assert_string_equal(err.text, "the process was killed by SIGSEGV (Segmentation fault)");
    assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &time, &err), ERR_CRASH);
}

/* Sends whatever the slot says on every descriptor, then returns (and the child says DONE). */
#define SPEAKER                                                                                    \
    "#include \"judge/process/wire.h\"\n#include <string.h>\n#include <sys/socket.h>\n"            \
    "void solution(const unsigned char *, unsigned char *);\n"                                     \
    "void solution(const unsigned char *request, unsigned char *answer)\n{\n"                      \
    "    static union wire_message message;\n    unsigned bytes;\n"                                \
    "    memcpy(&bytes, request, 4);\n    memset(&message, 0, sizeof message);\n"                  \
    "    memcpy(&message, request + 4, 128);\n    answer[0] = 1;\n"                                \
    "    for (int fd = 3; bytes && fd < 32; fd++)\n"                                               \
    "        send(fd, &message, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);\n}\n"

static int speak(const void *message, uint32_t bytes, bool slot_outputs, struct err *err)
{
    struct child_time time;
    memset(child.slot.data, 0, TEXT_BYTES);
    memcpy(child.slot.data, &bytes, sizeof bytes);
    memcpy(child.slot.data + 4, message, 128);
    child.kind = slot_outputs ? CHILD_NATIVE : CHILD_TORCH;
    return call(WIRE_RUN, TIMEOUT_MS, &time, err);
}

static const struct {
    const char *name;
    struct wire_done done; /* its first 128 bytes */
    uint32_t bytes;
    bool slot_outputs;
    int result, output; /* of the call; of the output that it claims */
} forged[] = {
    {"a claim where outputs lie in the slot",
     .done = {.type = WIRE_DONE, .count = 1, .outputs = {{.address = 8, .bytes = 1 << 20}}},
     sizeof(struct wire_done), true, 0, 0},
    {"an output that is nowhere",
     .done = {.type = WIRE_DONE,
              .count = 1,
              .outputs =
                  {{.address = 8, .bytes = 64, .dtype = DTYPE_U8, .dimensions = 1, .shape = {64}}}},
     sizeof(struct wire_done), false, 0, ERR_PROTOCOL},
    {"an output in the kernel",
     .done =
         {.type = WIRE_DONE,
          .count = 1,
          .outputs = {{.address = UINT64_C(0xffffffff81000000), .bytes = 8, .dtype = DTYPE_F64}}},
     sizeof(struct wire_done), false, 0, ERR_PROTOCOL},
    {"an output that cannot be",
     .done = {.type = WIRE_DONE, .count = 1, .outputs = {{.bytes = 7, .dtype = DTYPE_F32}}},
     sizeof(struct wire_done), false, ERR_PROTOCOL, 0},
    {"too many outputs", .done = {.type = WIRE_DONE, .count = 1000}, sizeof(struct wire_done),
     false, ERR_PROTOCOL, 0},
    {"too short", {.type = WIRE_DONE, .count = 1}, 100, true, ERR_PROTOCOL, 0},
    {"OPENED again", {.type = WIRE_OPENED}, sizeof(struct wire_opened), true, ERR_PROTOCOL, 0},
    {"a failure without a class", .done = {.type = WIRE_FAILED}, sizeof(struct wire_failed), true,
     ERR_INPUT, 0},
    {"a failure of a wild class", .done = {.type = WIRE_FAILED, .count = 12345},
     sizeof(struct wire_failed), true, ERR_INPUT, 0},
};

TEST(forged_messages)
{
    int object = compile_source_text(SPEAKER);
    for (size_t i = 0; i < COUNT(forged); i++) {
        struct err err = {0};
        struct tensor tensor;
        open_ready(object);
        int result = speak(&forged[i].done, forged[i].bytes, forged[i].slot_outputs, &err);
        if (result != forged[i].result)
            fail_msg("%s: %s %s", forged[i].name, err_name(result), err.text);
        if (result == 0 && child_output(&child, 0, 0, &tensor, &err) != forged[i].output)
            fail_msg("%s: its output: %s", forged[i].name, err.text);
        if (result == ERR_INPUT)
            assert_int_equal(child.failed.failure, FAILED_RUN);
        if (result == 0) { /* the real DONE, when it comes, is one too many */
            struct wire_done none = {0};
            struct pollfd wait = {.fd = child.process.channel, .events = POLLIN};
            sandboxed_thaw(&child.process);
            assert_int_equal(poll(&wait, 1, TIMEOUT_MS), 1);
            assert_int_equal(speak(&none, 0, true, &err), ERR_PROTOCOL);
            assert_true(child.breach == CHILD_UNREQUESTED);
        }
        child_close(&child);
    }
    close(object);
}

/* Says, while it is loaded, that every layer holds: as that word of a message may say it. */
static const struct {
    uint32_t type;
    int result;
} claims[] = {{WIRE_OPENED, 0}, {WIRE_LOCKED, ERR_PROTOCOL}, {WIRE_FAILED, ERR_INPUT}};

TEST(claimed_layers)
{
    for (size_t i = 0; i < COUNT(claims); i++) {
        char *text = mem_printf("#include \"judge/process/wire.h\"\n#include <sys/socket.h>\n"
                                "__attribute__((constructor)) static void claim(void)\n{\n"
                                "    static unsigned words[WIRE_BYTES / 4];\n"
                                "    for (int i = 0; i < WIRE_BYTES / 4; i++)\n"
                                "        words[i] = ~0U;\n"
                                "    words[0] = %u;\n"
                                "    for (int fd = 3; fd < 32; fd++)\n"
                                "        send(fd, words, sizeof words, MSG_NOSIGNAL);\n}\n"
                                "void solution(const char *x, char *y) { y[0] = x[0]; }\n",
                                claims[i].type);
        int object = compile_source_text(text);
        sandbox->forbid = BIT(LAYER_LANDLOCK) | BIT(LAYER_IPC);
        assert_int_equal(open_child(object, NULL), claims[i].result);
        assert_int_equal(child.process.layers, layers & ~sandbox->forbid);
        child_close(&child);
        close(object);
        mem_free(text);
    }
}

static const struct {
    enum child_kind kind;
    enum child_state state;
    bool trusted, refused; /* refused: the judge could not build something for it */
    uint32_t claimed, taken;
    const char *says; /* NULL: the child's own words */
} reports[] = {
    {CHILD_NATIVE, CHILD_LOADING, false, false, FAILED_LOAD, FAILED_LOAD, NULL},
    {CHILD_NATIVE, CHILD_BUSY, false, false, FAILED_LOAD, FAILED_RUN, NULL},
    {CHILD_NATIVE, CHILD_BUSY, false, false, FAILED_MEMORY, FAILED_MEMORY, NULL},
    {CHILD_NATIVE, CHILD_LOADING, false, false, FAILED_COMPILE, FAILED_LOAD, NULL},
    {CHILD_NATIVE, CHILD_LOADING, false, false, FAILED_UNSUPPORTED, FAILED_LOAD, NULL},
    {CHILD_NATIVE, CHILD_BUSY, false, false, FAILED_UNSUPPORTED, FAILED_RUN, NULL},
    {CHILD_NATIVE, CHILD_BUSY, false, false, FAILED_NO_GPU, FAILED_RUN, NULL},
    {CHILD_NATIVE, CHILD_LOADING, true, false, FAILED_UNSUPPORTED, FAILED_UNSUPPORTED, NULL},
    {CHILD_PROGRAM, CHILD_LOADING, false, false, FAILED_UNSUPPORTED, FAILED_UNSUPPORTED, NULL},
    {CHILD_PROGRAM, CHILD_LOADING, false, false, FAILED_COMPILE, FAILED_COMPILE, NULL},
    {CHILD_PROGRAM, CHILD_BUSY, false, false, FAILED_UNSUPPORTED, FAILED_RUN, NULL},
    {CHILD_TORCH, CHILD_BUSY, false, false, FAILED_COMPILE, FAILED_COMPILE, NULL},
    {CHILD_TORCH, CHILD_LOADING, false, false, FAILED_UNSUPPORTED, FAILED_LOAD, NULL},
    {CHILD_TORCH, CHILD_BUSY, false, true, FAILED_UNSUPPORTED, FAILED_UNSUPPORTED, "no nvcc here"},
    {CHILD_TORCH, CHILD_BUSY, false, false, FAILED_NO_GPU, FAILED_NO_GPU, "it needs CUDA"},
    {CHILD_TORCH, CHILD_BUSY, true, false, FAILED_PROBLEM, FAILED_PROBLEM, NULL},
    {CHILD_TORCH, CHILD_BUSY, false, false, FAILED_PROBLEM, FAILED_RUN, NULL},
    {CHILD_TORCH, CHILD_BUSY, false, false, FAILED_NONE, FAILED_RUN, NULL},
    {CHILD_TORCH, CHILD_BUSY, false, false, 1000, FAILED_RUN, NULL},
};

/* A child's word counts for what such a child can know; that something is unsupported is said by
 * the judge. */
TEST(reports)
{
    for (size_t i = 0; i < COUNT(reports); i++) {
        struct child one = {.kind = reports[i].kind,
                            .state = reports[i].state,
                            .trusted = reports[i].trusted};
        struct wire_failed failed = {.type = WIRE_FAILED, .failure = reports[i].claimed};
        snprintf(failed.text, sizeof failed.text, "trust\x1b me\xe2\x80\xae");
        one.requests.refusal = reports[i].refused ? mem_strdup("no nvcc here") : NULL;
        child_take_failure(&one, &failed);
        const char *says = reports[i].says ? reports[i].says : "trust? me???";
        if (one.failed.failure != reports[i].taken ||
            strncmp(one.failed.text, says, strlen(says)) != 0)
            fail_msg("%zu: %u, %s", i, one.failed.failure, one.failed.text);
        mem_free(one.requests.refusal);
    }
}

/* A claim of 16 GiB costs nothing until the bytes are read. */
TEST(large_claim)
{
    struct wire_done done = {.type = WIRE_DONE,
                             .count = 1,
                             .outputs = {{.address = 4096,
                                          .bytes = LIMIT_TENSOR_BYTES,
                                          .dtype = DTYPE_U8,
                                          .dimensions = 1,
                                          .shape = {(int64_t)LIMIT_TENSOR_BYTES}}}};
    struct tensor tensor;
    int object = compile_source_text(SPEAKER);
    open_ready(object);
    assert_int_equal(speak(&done, sizeof done, false, NULL), 0);
    assert_int_equal(child_output_form(&child, 0, 0, &tensor, NULL), 0);
    assert_true(tensor.count == LIMIT_TENSOR_BYTES && tensor.bytes == LIMIT_TENSOR_BYTES);
    assert_null(tensor.data);
    assert_null(child.outputs.buffers[0]);
    assert_int_equal(child_output_form(&child, 0, 1, &tensor, NULL), ERR_INTERNAL);
    close(object);
}

/* An oracle of its own memory and type, beside the plain answer. */
TEST(oracle)
{
    struct err err = {0};
    struct child_time time;
    struct wire_open open = {.type = WIRE_OPEN, .role = WIRE_REFERENCE, .threads = 1};
    struct layout layout = {
        .count = 3,
        .bytes = 4096,
        .arguments = {{.role = ROLE_IN, .dtype = DTYPE_F32, .count = 4},
                      {.role = ROLE_OUT, .dtype = DTYPE_F32, .offset = 512, .count = 4},
                      {.role = ROLE_SCALAR, .dtype = DTYPE_F32, .offset = 1024, .count = 1}}};
    int objects[2] = {compile_source_text("void solution(const float *x, float *y, float a) {"
                                          " for (int i = 0; i < 4; i++) y[i] = x[i] / a; }\n"),
                      compile_source_text("void solution(const double *x, double *y, double a) {"
                                          " for (int i = 0; i < 4; i++) y[i] = x[i] / a; }\n")};
    struct child_start start = {.standby = standby,
                                .sandbox = sandbox,
                                .message = &open,
                                .descriptors = objects,
                                .descriptor_count = 2,
                                .limit = {.ms = TIMEOUT_MS}};
    assert_ok(child_open(&child, &start, NULL, &err), &err);
    assert_ok(child_map(&child, &layout, &layout, 1, true, TIME_LIMIT, &err), &err);
    float *slot = (float *)(void *)child.slot.data;
    slot[0] = slot[1] = slot[2] = slot[3] = 1;
    slot[256] = 3;
    assert_int_equal(call(WIRE_DOUBLE, TIMEOUT_MS, &time, &err), 0);
    assert_int_equal(call(WIRE_RUN, TIMEOUT_MS, &time, &err), 0);
    const double *wide = (const double *)(const void *)(child.oracle.data +
                                                        child.oracle_layout.arguments[1].offset);
    assert_true(slot[128] == 1.0F / 3 && wide[3] == 1.0 / 3);
    close(objects[0]);
    close(objects[1]);
}
