/* Requests of a torch child: builds, and where its tensors lie. The child is a child of
 * this process that speaks the protocol, well or badly; its GPU is the stand-in driver's. */
#include "../support/fake_cuda.h"
#include "../support/judging.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/fd_message.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pidfd.h"
#include "judge/child/segments.h"
#include "judge/process/call.h"
#include "judge/process/child.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define WAIT_MS 20000
#define LIMIT(limit) ((struct time_limit){.ms = (limit)})
#define SHORT_MS 300
#define UNIT ((uint64_t)2 << 20) /* of the stand-in's memory */
#define OUTPUT_BYTES 4096
#define TAILED_BYTES 108 /* no multiple of a sample's */

static struct gpu_context gpu;
static struct gpu_work work;
static char *work_image;
static struct child child;
static bool outputs_stay; /* on the GPU, after a call */

static struct maker {
    struct child_builder builder;
    int calls;
    char request[64];
    bool fails;
    bool refuses; /* it has had all that it may */
    int takes_ms;
} maker;

static int make(struct child_builder *builder, const char *request, size_t bytes, char *text,
                size_t text_bytes)
{
    assert_ptr_equal(builder, &maker.builder);
    assert_int_equal(request[bytes], '\0');
    maker.calls++;
    support_pause(maker.takes_ms);
    snprintf(maker.request, sizeof maker.request, "%s", request);
    if (!maker.fails && !maker.refuses)
        return file_memory_from("artifact", "made of it", 10, NULL);
    snprintf(text, text_bytes, "line 3: no such thing");
    return maker.refuses ? ERR_LIMIT : -1;
}

/* What follows runs in the child: whatever goes wrong there is an exit status. */

static struct wire_done done; /* what it answers a CALL with */

static void must(bool fine, int status)
{
    if (!fine)
        _exit(status);
}

static void say(int channel, const void *message, size_t bytes, const int *descriptors,
                uint32_t count)
{
    must(wire_send(channel, message, bytes, descriptors, count, NULL) == 0, 10);
}

static void request_build(int channel, int request)
{
    struct wire_build build = {.type = WIRE_BUILD};
    say(channel, &build, sizeof build, &request, request >= 0);
}

/* 1: built; 0: not, and why. */
static uint32_t receive_built(int channel, char *text, int *artifact)
{
    static union wire_message answer;
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    must(wire_receive(channel, &answer, &bytes, descriptors, NULL) == 0, 11);
    must(answer.type == WIRE_BUILT &&
             (answer.built.failure == FAILED_NONE) == (descriptors[0] >= 0),
         12);
    *artifact = descriptors[0];
    snprintf(text, 64, "%.63s", answer.built.text);
    return answer.built.failure == FAILED_NONE;
}

static int request_of(const char *text)
{
    int fd = memfd_create("request", MFD_CLOEXEC);
    must(write(fd, text, strlen(text)) == (ssize_t)strlen(text), 13);
    return fd;
}

static void builds(int channel)
{
    char text[64];
    char bytes[11] = "";
    int artifact;
    int request = request_of("a request");
    lseek(request, 0, SEEK_SET);
    request_build(channel, request);
    must(receive_built(channel, text, &artifact) == 1, 20);
    must(pread(artifact, bytes, 10, 0) == 10 && strcmp(bytes, "made of it") == 0, 21);
    close(artifact);
    close(request);
}

static void builds_in_vain(int channel)
{
    char text[64];
    int artifact;
    int request = request_of("a request");
    lseek(request, 0, SEEK_SET);
    request_build(channel, request);
    must(receive_built(channel, text, &artifact) == 0, 22);
    must(strcmp(text, "line 3: no such thing") == 0, 23);
    close(request);
}

static int pipe_end(void)
{
    int ends[2];
    must(pipe(ends) == 0, 14);
    return ends[0];
}

static int request_too_large(void)
{
    int request = request_of("x");
    must(ftruncate(request, (off_t)1 << 40) == 0, 15);
    return request;
}

static int request_unreadable(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", request_of("x"));
    return open(path, O_WRONLY);
}

/* Whatever is asked is answered until there is no more room for answers. */
static void never_reads(int channel)
{
    int request = request_of("x");
    for (int i = 0; i < 4000; i++)
        request_build(channel, request);
    pause();
}

static void builds_forever(int channel)
{
    char text[64];
    int artifact;
    int request = request_of("x");
    for (;;) {
        request_build(channel, request);
        receive_built(channel, text, &artifact);
        close(artifact);
    }
}

static void announce(int channel, uint64_t address, uint64_t bytes, int fd)
{
    struct wire_segment segment = {.type = WIRE_SEGMENT, .address = address, .bytes = bytes};
    say(channel, &segment, sizeof segment, &fd, fd >= 0);
}

static int memory_of(uint64_t bytes)
{
    int fd = memfd_create("memory", MFD_CLOEXEC);
    must(ftruncate(fd, (off_t)bytes) == 0, 16);
    return fd;
}

/* X(name, what the child does, options, what is said of it): ERR_PROTOCOL */
#define BAD_REQUESTS(X)                                                                            \
    X(a_build_of_nothing, request_build(channel, -1), 0, "sent no request")                        \
    X(a_build_of_a_pipe, request_build(channel, pipe_end()), 0, "sent no request")                 \
    X(a_build_of_a_directory, request_build(channel, open("/", O_RDONLY | O_DIRECTORY)), 0,        \
      "sent no request")                                                                           \
    X(a_build_of_a_device, request_build(channel, open("/dev/zero", O_RDONLY)), 0,                 \
      "sent no request")                                                                           \
    X(a_build_of_a_socket, request_build(channel, channel), 0, "sent no request")                  \
    X(a_build_of_too_much, request_build(channel, request_too_large()), 0, "the build request: ")  \
    X(a_build_of_what_cannot_be_read, request_build(channel, request_unreadable()), 0,             \
      "the build request: ")                                                                       \
    X(more_memory_than_there_is, announce(channel, UNIT, 2 * UNIT, memory_of(UNIT)), 0,            \
      "cannot be mapped")                                                                          \
    X(a_part_of_a_page, announce(channel, UNIT, UNIT - 1, memory_of(UNIT)), 0, "cannot be mapped") \
    X(no_bytes, announce(channel, UNIT, 0, memory_of(UNIT)), 0, "cannot have")                     \
    X(all_memory_that_there_is, announce(channel, 0, UINT64_MAX, memory_of(UNIT)), 0, "cannot")    \
    X(a_pipes_memory, announce(channel, UNIT, UNIT, pipe_end()), 0, "cannot be mapped")            \
    X(no_memory, announce(channel, UNIT, UNIT, -1), 0, "cannot have")                              \
    X(memory_on_the_cpu, announce(channel, UNIT, UNIT, memory_of(UNIT)), NO_GPU, "cannot have")    \
    X(no_memory_on_the_cpu, announce(channel, 0, UNIT, -1), NO_GPU, "cannot have")

#define X(name, act, options, words)                                                               \
    static void name(int channel)                                                                  \
    {                                                                                              \
        act;                                                                                       \
    }
BAD_REQUESTS(X)
#undef X

static void announces_5000(int channel)
{
    for (uint64_t i = 1; i <= 5000; i++) {
        int fd = memory_of(UNIT);
        announce(channel, i * UNIT, UNIT, fd);
        close(fd);
    }
    pause();
}

static void announces_forever(int channel)
{
    int fd = memory_of(UNIT);
    for (;;)
        announce(channel, UNIT, UNIT, fd);
}

static void announces_half_a_message(int channel)
{
    struct wire_segment segment = {.type = WIRE_SEGMENT, .address = UNIT, .bytes = UNIT};
    int fd = memory_of(UNIT);
    say(channel, &segment, sizeof segment / 2, &fd, 1);
}

static void announces_four_at_once(int channel)
{
    struct wire_segment segment = {.type = WIRE_SEGMENT, .address = UNIT, .bytes = UNIT};
    int fds[4] = {memory_of(UNIT), memory_of(UNIT), memory_of(UNIT), memory_of(UNIT)};
    say(channel, &segment, sizeof segment, fds, 4);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
}

static void dies(int channel)
{
    request_build(channel, request_of("x"));
    _exit(77);
}

static void says_nothing_new(int channel)
{
}

static uint32_t answer_to(uint32_t type)
{
    return type == WIRE_FILL ? WIRE_FILLED : type == WIRE_WAKE ? WIRE_AWAKE : WIRE_DONE;
}

/* Acts, then answers, for as long as messages come. */
static void live(int channel, void (*act)(int channel))
{
    static union wire_message message;
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    while (wire_receive(channel, &message, &bytes, descriptors, NULL) == 0) {
        act(channel);
        done.type = answer_to(message.type);
        say(channel, &done, done.type == WIRE_DONE ? sizeof done : 8, NULL, 0);
    }
    _exit(0);
}

static void begin(void (*act)(int channel))
{
    int theirs;
    assert_int_equal(fd_message_pair(&child.process.channel, &theirs, NULL), 0);
    child.process.pid = fork();
    if (child.process.pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(child.process.channel);
        live(theirs, act);
    }
    close(theirs);
    child.process.pid_fd = pidfd_of(child.process.pid);
    assert_true(child.process.pid > 0 && child.process.pid_fd >= 0);
    child.slots = 1;
    child.gpu = &gpu;
    child.requests.builder = &maker.builder;
    child.answer = mem_alloc(sizeof *child.answer);
}

static int call(int64_t timeout_ms, struct err *err)
{
    struct child_time time;
    const struct child_call call = {.mode = WIRE_RUN,
                                    .limit = {.ms = timeout_ms},
                                    .stays_on_gpu = outputs_stay};
    return child_call(&child, &call, &time, err);
}

FIXTURE(reset)
{
    outputs_stay = false;
    child_close(&child);
    maker = (struct maker){.builder = {.build = make}};
    memset(&done, 0, sizeof done);
    return fake_cuda_clean(state);
}

FIXTURE(open_all)
{
    reset(state);
    return fake_gpu_open(&gpu, &work, &work_image);
}

FIXTURE(close_all)
{
    gpu_context_close(&gpu);
    mem_free(work_image);
    return 0;
}

TEST_GROUP(open_all, close_all);
TEST_EACH(NULL, reset);

enum { NO_BUILDER = 1, NO_GPU = 2, NATIVE = 4, FAILS = 8 };

static const struct {
    const char *name;
    void (*act)(int channel);
    int options, result;
    const char *words;
} asked[] = {
#define X(name, act, options, words) {#name, name, options, ERR_PROTOCOL, words},
    BAD_REQUESTS(X)
#undef X
        {"nothing", says_nothing_new, 0, 0, ""},
    {"a build", builds, 0, 0, ""},
    {"a build that fails", builds_in_vain, FAILS, 0, ""},
    {"a build without a GPU", builds, NO_GPU, 0, ""},
    {"memory in four descriptors", announces_four_at_once, 0, 0, ""},
    {"a build that it may not have", builds, NO_BUILDER, ERR_PROTOCOL, "may not have"},
    {"builds whose answers it never reads", never_reads, 0, ERR_PROTOCOL, "does not read"},
    {"a native child's build", builds, NATIVE, ERR_PROTOCOL, "a message that"},
    {"memory in 5000 pieces", announces_5000, 0, ERR_PROTOCOL, "more pieces"},
    {"half of a message", announces_half_a_message, 0, ERR_PROTOCOL, "does not know"},
    {"a native child's memory", announces_four_at_once, NATIVE, ERR_PROTOCOL, "a message that"},
    {"the end of everything", dies, 0, ERR_CRASH, "status 77"},
};

static void begin_with(void (*act)(int channel), int options)
{
    maker.fails = options & FAILS;
    begin(act);
    child.requests.builder = options & NO_BUILDER ? NULL : &maker.builder;
    child.gpu = options & (NO_GPU | NATIVE) ? NULL : &gpu;
    child.kind = options & NATIVE ? CHILD_NATIVE : CHILD_TORCH;
}

/* Whatever is waited for: filled slots, or a call's end. Nothing of it is left behind. */
TEST(asked)
{
    int before = judging_descriptors();
    for (size_t i = 0; i < 2 * COUNT(asked); i++) {
        size_t row = i / 2;
        struct err err = {0};
        begin_with(asked[row].act, asked[row].options);
        int result = i % 2 ? child_fill(&child, 1, false, LIMIT(WAIT_MS), &err)
                           : call(WAIT_MS, &err);
        if (result != asked[row].result || (result < 0 && !strstr(err.text, asked[row].words)))
            fail_msg("%s: %s %s", asked[row].name, err_name(result), err.text);
        if (asked[row].act == builds && result == 0)
            assert_string_equal(maker.request, "a request");
        reset(state);
        assert_int_equal(judging_descriptors(), before);
    }
}

/* A build's time moves the deadline; requests without end do not. */
TEST(deadlines)
{
    struct err err = {0};
    maker.takes_ms = 2 * SHORT_MS;
    begin(builds);
    assert_int_equal(call(SHORT_MS, &err), 0);
    reset(state);

    begin(builds);
    maker.takes_ms = SHORT_MS;
    maker.refuses = true;
    assert_int_equal(call(SHORT_MS, &err), ERR_TIMEOUT);
    reset(state);

    begin(builds_forever);
    assert_int_equal(call(SHORT_MS, &err), ERR_TIMEOUT);
    assert_true(maker.calls > 1);
    reset(state);

    begin(announces_forever);
    assert_int_equal(call(SHORT_MS, &err), ERR_TIMEOUT);
    assert_non_null(strstr(err.text, "still asking"));
    reset(state);

    begin(announces_forever);
    assert_int_equal(child_fill(&child, 1, false, LIMIT(SHORT_MS), &err), ERR_TIMEOUT);
}

static _Atomic int cancelled;

TEST(cancelled)
{
    begin(announces_forever);
    child.cancelled = &cancelled;
    pthread_t thread = support_set_after(&cancelled, 50);
    assert_int_equal(call(WAIT_MS, NULL), ERR_CANCELLED);
    pthread_join(thread, NULL);
    cancelled = 0;
}

/* The other user of the device writes into it once it has the device. */
static int others[2];
static int *niceness; /* the child's, once it could go on; it has the page, too */

static void waits_for_another_user(int channel)
{
    char byte;
    must(read(others[0], &byte, 1) == 1, 40);
    *niceness = getpriority(PRIO_PROCESS, 0);
}

static void *use_device(void *directory)
{
    struct device_turn turn = DEVICE_TURN(directory, "cpu", NULL);
    if (device_turn_begin(&turn, DEVICE_EXCLUSIVE, NULL) < 0 || write(others[1], "x", 1) != 1)
        abort();
    device_turn_end(&turn);
    return NULL;
}

static int ask(uint32_t type, double yield_after_ms, struct err *err)
{
    struct child_time time;
    const struct child_call call = {.mode = WIRE_RUN,
                                    .limit = {.ms = isfinite(yield_after_ms) ? WAIT_MS : SHORT_MS},
                                    .yield_after_ms = yield_after_ms};
    return type == WIRE_FILL   ? child_fill(&child, 1, false, LIMIT(WAIT_MS), err)
           : type == WIRE_WAKE ? child_wake(&child, 0, false, LIMIT(WAIT_MS), err)
                               : child_call(&child, &call, &time, err);
}

/* It gives no answer until another user has had the device: on the clock and off it. */
TEST(makes_way)
{
    static const struct cpu_affinity none = {.processor = -1}; /* any use is most of that */
    static const struct {
        uint32_t type;
        double yield_after_ms;
        bool trusted, longs; /* its evaluation has had the device for long already */
        bool crowds, backs;  /* it takes most processors, and others' time comes first */
        int result;
    } rows[] = {
        {WIRE_FILL, 0, false, false, true, false, 0},
        {WIRE_FILL, 0, false, true, true, true, 0},
        {WIRE_FILL, 0, false, true, false, false, 0},
        {WIRE_FILL, 0, true, true, true, false, 0},
        {WIRE_WAKE, 0, false, true, true, true, 0},
        {WIRE_CALL, 0, false, true, true, true, 0},
        {WIRE_CALL, 20, false, false, true, false, 0},
        {WIRE_CALL, INFINITY, false, false, true, false, ERR_TIMEOUT}, /* is never stopped */
    };
    int own = getpriority(PRIO_PROCESS, 0);
    bool may = setpriority(PRIO_PROCESS, 0, own - 1) == 0 && setpriority(PRIO_PROCESS, 0, own) == 0;
    char *directory = support_directory();
    struct busy_time busy;
    busy_time_init(&busy);
    niceness = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        struct device_lease lease;
        pthread_t other;
        assert_int_equal(pipe(others), 0);
        begin_with(waits_for_another_user, NO_GPU);
        device_lease_init(&lease, NULL, NULL, &busy, directory);
        lease.turn.held_ms[DEVICE_EXCLUSIVE] = rows[i].longs ? 1e6 : -1e6; /* on any machine */
        child.lease = &lease;
        child.trusted = rows[i].trusted;
        child.affinity = rows[i].crowds ? &none : NULL;
        assert_ok(device_lease_lock(&lease, LEASE_TIMED, &err), &err);
        assert_int_equal(pthread_create(&other, NULL, use_device, directory), 0);
        int result = ask(rows[i].type, rows[i].yield_after_ms, &err);
        if (result != rows[i].result)
            fail_msg("row %zu: %s %s", i, err_name(result), err.text);
        if (result == 0) {
            assert_int_equal(*niceness, rows[i].backs && may ? 19 : own);
            assert_true(child.process.frozen && !child.process.stands_back);
            assert_int_equal(getpriority(PRIO_PROCESS, (id_t)child.process.pid), own);
        }
        device_lease_unlock(&lease);
        pthread_join(other, NULL);
        reset(state);
        close(others[0]);
        close(others[1]);
    }
    munmap(niceness, 4);
    busy_time_deinit(&busy);
}

static void between_calls(int channel)
{
    static int calls;
    if (calls++ == 0) { /* the answer first, then something */
        struct wire_done early = {.type = WIRE_DONE};
        say(channel, &early, sizeof early, NULL, 0);
    }
}

static void announces_between_calls(int channel)
{
    between_calls(channel);
    announce(channel, UNIT, UNIT, memory_of(UNIT));
    pause();
}

static void asks_between_calls(int channel)
{
    between_calls(channel);
    request_build(channel, request_of("x"));
    pause();
}

/* A thread of a child's may take memory after a call's end; there is nothing to build then. */
TEST(between_calls)
{
    begin(announces_between_calls);
    assert_int_equal(call(WAIT_MS, NULL), 0);
    sandboxed_thaw(&child.process);
    for (int i = 0; i < WAIT_MS && !child_pending_request(&child); i++)
        support_pause(1);
    assert_int_equal(child_pending_request(&child), WIRE_SEGMENT);
    assert_int_equal(call(SHORT_MS, NULL), ERR_TIMEOUT); /* it hears of the call, and sleeps on */
    assert_true(child.requests.segment_count == 1 && child.breach == CHILD_KEPT_STILL);
    reset(state);

    begin(asks_between_calls);
    assert_int_equal(call(WAIT_MS, NULL), 0);
    sandboxed_thaw(&child.process);
    for (int i = 0; i < WAIT_MS && !child_pending_request(&child); i++)
        support_pause(1);
    assert_int_equal(call(WAIT_MS, NULL), ERR_PROTOCOL);
    assert_true(child.breach == CHILD_UNREQUESTED);
    assert_int_equal(maker.calls, 0);
}

TEST(locate)
{
    struct child_segment segments[] = {
        {.address = 0x10000, .memory = {.address = 0x900000, .bytes = 0x1000}},
        {.address = 0x11000, .memory = {.address = 0x500000, .bytes = 0x1000}},
        {.address = UINT64_MAX - 0xFFF, .memory = {.address = 0x700000, .bytes = 0x1000}},
        {.address = 0x20000}, /* could not be mapped */
    };
    static const struct {
        uint64_t address, bytes;
        cuda_at at;
    } rows[] = {
        {0x10000, 1, 0x900000},
        {0x10000, 0x1000, 0x900000},
        {0x10FFF, 1, 0x900FFF},
        {0x10800, 0x800, 0x900800},
        {0x11000, 16, 0x500000},
        {0x11FF0, 16, 0x500FF0},
        {UINT64_MAX, 1, 0x700FFF},
        {UINT64_MAX - 0xFFF, 0x1000, 0x700000},
        {0x10000, 0, 0x900000},
        {0, 16, 0},
        {0xFFFF, 16, 0},  /* begins before it */
        {0x10FF8, 16, 0}, /* one half in the next: another memory */
        {0x10000, 0x1001, 0},
        {0x11FF8, 16, 0}, /* half outside */
        {0x12000, 1, 0},
        {UINT64_MAX - 7, 16, 0}, /* beyond the last address */
        {UINT64_MAX, UINT64_MAX, 0},
        {0x10001, UINT64_MAX, 0}, /* ends before it begins */
        {0x10001, UINT64_MAX - 0x10000, 0},
        {0x20000, 1, 0},
        {0x20000, 0, 0},
    };
    struct child many = {.requests = {.segments = segments, .segment_count = 4}};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (child_locate(&many, rows[i].address, rows[i].bytes) != rows[i].at)
            fail_msg("row %zu: %#llx", i, child_locate(&many, rows[i].address, rows[i].bytes));
    struct child none = {0};
    assert_true(child_locate(&none, 0, 0) == 0 && child_locate(&none, 4096, 1) == 0);
}

/* A PyTorch process, as far as its judge can see: memory from the pool, outputs in it. */
static char *pool_memory(int channel)
{
    static char *memory;
    char text[256] = "";
    if (!memory) {
        must(segments_open(channel, fake_cuda, text, sizeof text) == 0, 30);
        memory = segments_alloc((ssize_t)UNIT, 0, NULL);
        must(memory, 31);
    }
    return memory;
}

static void describe(uint32_t index, const char *at, int64_t count)
{
    done.outputs[index] = (struct wire_output){.address = (uintptr_t)at,
                                               .bytes = (uint64_t)count * 4,
                                               .dtype = DTYPE_F32,
                                               .dimensions = 1,
                                               .shape = {count}};
    done.count = index + 1;
}

static void answers(int channel)
{
    char *memory = pool_memory(channel);
    memset(memory, 'a', OUTPUT_BYTES);
    memset(memory + OUTPUT_BYTES, 'b', OUTPUT_BYTES);
    describe(0, memory, OUTPUT_BYTES / 4);
    describe(1, memory + OUTPUT_BYTES, TAILED_BYTES / 4);
    describe(2, NULL, 0);
}

static void answers_from_outside(int channel)
{
    char *memory = pool_memory(channel);
    describe(0, memory + UNIT - 64, 17); /* a float too many */
    describe(1, memory - 4, 2);
    describe(2, (const char *)UINTPTR_MAX - 7, 4);
    describe(3, (const char *)&done, 4); /* of its own, but on the host */
}

/* What the GPU would go on doing while the process stands still, another process does. */
static void answers_late(int channel)
{
    static bool begun;
    char *memory = pool_memory(channel);
    answers(channel);
    if (!begun && fork() == 0) {
        for (;;)
            for (int i = 0; i < OUTPUT_BYTES; i++)
                memory[i]++;
    }
    begun = true;
}

static void assert_bytes(uint32_t index, uint64_t bytes, char value)
{
    struct tensor tensor;
    struct err err;
    assert_ok(child_output(&child, 0, index, &tensor, &err), &err);
    assert_null(tensor.data);
    assert_int_equal(tensor.bytes, bytes);
    for (uint64_t i = 0; i < bytes; i++)
        assert_int_equal(((const char *)(uintptr_t)tensor.at)[i], value);
}

/* With the judge's kernels, and without them. */
TEST(outputs)
{
    int before = judging_descriptors();
    for (int with_work = 0; with_work < 2; with_work++) {
        struct err err = {0};
        struct tensor tensor;
        begin(answers);
        child.work = with_work ? &work : NULL;
        for (int i = 0; i < 3; i++) { /* it keeps its memory, and announces it once */
            assert_ok(call(WAIT_MS, &err), &err);
            assert_int_equal(child_output_count(&child), 3);
            assert_bytes(0, OUTPUT_BYTES, 'a');
            assert_bytes(1, TAILED_BYTES, 'b');
            assert_bytes(2, 0, 0);
            assert_false(child.breach == CHILD_LATE);
            assert_int_equal(child.requests.segment_count, 1);
        }
        for (int i = 0; i < CHILD_SAMPLES; i++)
            if (child.outputs.samples[i].taken) {
                assert_in_range(child.outputs.samples[i].output, 0, 1);
                assert_int_equal(child.outputs.samples[i].data[0],
                                 "ab"[child.outputs.samples[i].output]);
            }
        assert_int_equal(child_output(&child, 0, 3, &tensor, &err), ERR_INTERNAL);
        reset(state);
    }
    assert_int_equal(judging_descriptors(), before);
}

/* Samples reach every byte of an output, those behind its last whole line, too. */
TEST(samples_reach_the_end)
{
    bool first = false, last = false;
    struct err err = {0};
    begin(answers);
    child.work = &work;
    for (int i = 0; i < 1000 && !(first && last); i++) {
        assert_ok(call(WAIT_MS, &err), &err);
        for (int k = 0; k < CHILD_SAMPLES; k++) {
            const struct child_sample *sample = &child.outputs.samples[k];
            if (!sample->taken || sample->output != 1)
                continue;
            assert_true(sample->offset + sample->bytes <= TAILED_BYTES);
            first |= sample->offset == 0;
            last |= sample->offset + sample->bytes == TAILED_BYTES;
        }
    }
    assert_true(first && last);
}

TEST(outputs_outside)
{
    struct err err = {0};
    struct tensor tensor;
    begin(answers_from_outside);
    child.work = &work;
    assert_int_equal(call(WAIT_MS, &err), 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(child_output_form(&child, 0, i, &tensor, &err), 0); /* its word */
        assert_true(tensor.at == 0 && tensor.data == NULL);
        assert_int_equal(child_output(&child, 0, i, &tensor, &err), ERR_PROTOCOL);
        assert_non_null(strstr(err.text, "has not announced"));
    }
    for (int i = 0; i < CHILD_SAMPLES; i++)
        assert_false(child.outputs.samples[i].taken);
}

static void begin_late(bool with_work, bool stays_on_gpu)
{
    begin(answers_late);
    child.work = with_work ? &work : NULL;
    outputs_stay = stays_on_gpu;
}

/* It may be that the other process has no processor just then: soon it has one. */
TEST(outputs_late)
{
    for (int with_work = 0; with_work < 2; with_work++) {
        begin_late(with_work, false);
        for (int i = 0; i < 1000 && child.breach == CHILD_KEPT_STILL; i++)
            assert_int_equal(call(WAIT_MS, NULL), 0);
        assert_true(child.breach == CHILD_LATE);
        reset(state);
        begin_late(with_work, true); /* the reader of the outputs looks */
        assert_int_equal(call(WAIT_MS, NULL), 0);
        assert_false(child.breach == CHILD_LATE);
        for (int i = 0; i < WAIT_MS && !child_samples_changed(&child, outputs_stay); i++)
            support_pause(1);
        assert_true(child_samples_changed(&child, outputs_stay));
        reset(state);
    }
}

/* Samples that cannot be taken are not compared; a GPU that fails is no late answer. */
TEST(broken_gpu)
{
    static const char *const functions[] = {"cuMemHostAlloc", "cuMemcpyDtoHAsync_v2",
                                            "cuCtxSynchronize"};
    for (size_t i = 0; i < 3; i++) {
        begin(answers);
        setenv("FAKE_CUDA_FAIL", functions[i], 1); /* the child began before */
        assert_int_equal(call(WAIT_MS, NULL), i == 0 ? ERR_IO : 0);
        assert_false(child.breach == CHILD_LATE);
        reset(state);
    }
}

static void announces_again(int channel)
{
    int fd = memory_of(UNIT);
    static char byte = 'a';
    must(pwrite(fd, &byte, 1, 0) == 1, 32);
    byte++;
    announce(channel, 16 * UNIT, UNIT, fd);
    close(fd);
    describe(0, (const char *)(16 * UNIT), 1); /* its first float */
}

/* Memory that was given up and made anew lies at the old address: the new one counts. */
TEST(replaced_segment)
{
    begin(announces_again);
    for (char i = 0; i < 5; i++) {
        assert_int_equal(call(WAIT_MS, NULL), 0);
        assert_int_equal(child.requests.segment_count, 1);
        const char *at = (const char *)(uintptr_t)child_locate(&child, 16 * UNIT, 4);
        assert_non_null(at);
        assert_int_equal(*at, 'a' + i);
    }
}
