/* A warm pool: processes are started ahead, handed out once, replaced, and none is left behind.
 * Their standby server is this program itself; a sandboxed child of it reports how it was
 * warmed. */
#include "judge/process/warm_pool.h"

#include "../support/judging.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/mem.h"
#include "judge/process/wire.h"
#include "sandbox/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 20000
#define NEVER_MS 200 /* what has not happened by then does not happen */

static struct standby *standby;
static struct sandbox *sandbox;
static struct warm_pool *pool;
static pid_t server;
static const struct wire_gpu gpu = {.uuid = "GPU-sixteen", .queues = 3};
static bool boxes_have_scratch;

/* Children of this process, but for the server: every one is a sandboxed process. */
static size_t list_sandboxed(pid_t pids[64])
{
    size_t count = judging_children(pids, 64), kept = 0;
    for (size_t i = 0; i < count; i++)
        if (pids[i] != server)
            pids[kept++] = pids[i];
    return kept;
}

static int count_sandboxed(void)
{
    pid_t pids[64];
    return (int)list_sandboxed(pids);
}

/* Soon there are so many, and then no more. */
static void assert_sandboxed(int count)
{
    int64_t deadline_ns = clock_now_ns() + WAIT_MS * INT64_C(1000000);
    while (count_sandboxed() != count && clock_now_ns() < deadline_ns)
        support_pause(2);
    assert_int_equal(count_sandboxed(), count);
    deadline_ns = clock_now_ns() + NEVER_MS * INT64_C(1000000);
    while (clock_now_ns() < deadline_ns) {
        if (count_sandboxed() != count)
            fail_msg("%d processes, and not %d any more", count_sandboxed(), count);
        support_pause(2);
    }
}

static struct standby *open_server(const char *program, const char *option)
{
    struct standby *made;
    struct err err;
    const char *argv[] = {program, option, NULL};
    const char *const environment[] = {NULL};
    assert_ok(standby_open(&made, argv, environment, WAIT_MS, NULL, &err), &err);
    return made;
}

FIXTURE(open_all)
{
    struct err err = {0};
    struct sandboxed process = {0};
    sandbox = mem_alloc(sizeof *sandbox);
    sandbox_init(sandbox, SANDBOX_NATIVE);
    standby = open_server("/proc/self/exe", "--serve");
    assert_ok(standby_spawn(standby, sandbox, WAIT_MS, &process, &err), &err);
    boxes_have_scratch = process.layers >> LAYER_SCRATCH & 1;
    sandboxed_close(&process);
    assert_int_equal(judging_children(&server, 1), 1);
    if (!boxes_have_scratch)
        print_message("sandboxes have no scratch of their own here: nothing stands ready\n");
    return 0;
}

FIXTURE(close_all)
{
    standby_close(standby);
    mem_free(sandbox);
    return 0;
}

TEST_GROUP(open_all, close_all);

static void open_pool_of(struct standby *from, uint32_t processes, const _Atomic int *busy)
{
    struct err err;
    struct warm_pool_options options = {
        .standby = from, .sandbox = sandbox, .gpu = gpu, .processes = processes, .busy = busy};
    assert_ok(warm_pool_open(&pool, &options, &err), &err);
}

static void open_pool(uint32_t processes)
{
    open_pool_of(standby, processes, NULL);
    if (!boxes_have_scratch)
        skip();
}

FIXTURE(close_pool)
{
    warm_pool_close(pool);
    pool = NULL;
    assert_int_equal(count_sandboxed(), 0);
    return 0;
}

TEST_EACH(NULL, close_pool);

static void take(struct sandboxed *process)
{
    assert_true(warm_pool_take(pool, NULL, process));
    assert_false(sandboxed_ended(process));
    assert_int_equal(sandboxed_stat(process->pid, 4), getpid());
}

/* As many as may stand pool, each handed out once and replaced, none beyond what is expected or
 * asked for. */
TEST(taken)
{
    struct sandboxed process[7];
    open_pool(3);
    assert_sandboxed(0);
    warm_pool_expect(pool, 1);
    assert_sandboxed(1);
    warm_pool_expect(pool, 5);
    assert_sandboxed(3);
    for (int i = 0; i < 6; i++) {
        take(&process[i]);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(process[k].pid, process[i].pid);
        assert_sandboxed(i + 1 + (i < 3 ? 3 : 5 - i)); /* mine, and those that wait */
    }
    take(&process[6]);
    assert_sandboxed(7);
    for (int i = 0; i < 7; i++)
        sandboxed_close(&process[i]);
    assert_sandboxed(0);
}

/* Each gets WARM once, before any other message. */
TEST(warm)
{
    static union wire_message message;
    struct wire_open open = {.type = WIRE_OPEN, .role = WIRE_CANDIDATE};
    open_pool(2);
    warm_pool_expect(pool, 2);
    assert_sandboxed(2);
    for (int i = 0; i < 2; i++) {
        struct sandboxed process;
        int descriptors[WIRE_DESCRIPTORS];
        size_t bytes;
        take(&process);
        assert_int_equal(wire_send(process.channel, &open, sizeof open, NULL, 0, NULL), 0);
        assert_int_equal(wire_receive(process.channel, &message, &bytes, descriptors, NULL), 0);
        assert_int_equal(message.type, WIRE_FAILED);
        assert_string_equal(message.failed.text, "1 times, for GPU-sixteen, 3 queues");
        sandboxed_close(&process);
    }
}

/* No thread waits for a process that will not come. */
TEST(cancelled)
{
    struct sandboxed process;
    _Atomic int cancelled = 1;
    open_pool(0);
    kill(server, SIGSTOP);
    assert_false(warm_pool_take(pool, &cancelled, &process));
    kill(server, SIGCONT);
    cancelled = 0;
    if (warm_pool_take(pool, &cancelled, &process)) /* the one that was begun */
        sandboxed_close(&process);
    warm_pool_expect(NULL, 1);
}

/* One that died while it waited is not handed out, and not left unreaped. */
TEST(dead)
{
    struct sandboxed process;
    siginfo_t info;
    pid_t pids[64];
    open_pool(2);
    warm_pool_expect(pool, 3);
    assert_sandboxed(2);
    size_t count = list_sandboxed(pids);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(kill(pids[i], SIGKILL) |
                             waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOWAIT),
                         0);
    take(&process); /* the third of those that are expected */
    assert_sandboxed(1);
    sandboxed_close(&process);
    assert_sandboxed(0);
}

/* While one evaluation is on the GPU, only processes that are waited for. */
TEST(busy)
{
    struct sandboxed process;
    static _Atomic int busy = 1;
    open_pool_of(standby, 2, &busy);
    if (!boxes_have_scratch)
        skip();
    warm_pool_wake(NULL);
    warm_pool_expect(pool, 3);
    nanosleep(&(struct timespec){.tv_nsec = NEVER_MS * 1000000}, NULL);
    assert_sandboxed(0);
    take(&process);
    sandboxed_close(&process);
    assert_sandboxed(0);
    busy = 0;
    warm_pool_wake(pool);
    assert_sandboxed(2);
}

/* A GPU failed: waiting processes end, and others replace them. */
TEST(dropped)
{
    struct sandboxed process;
    open_pool(2);
    warm_pool_drop(NULL);
    warm_pool_drop(pool);
    warm_pool_expect(pool, 3);
    assert_sandboxed(2);
    warm_pool_drop(pool);
    assert_sandboxed(2);
    for (int i = 0; i < 3; i++) { /* dropped processes are still expected */
        assert_sandboxed(i < 2 ? 2 : 1);
        take(&process);
        sandboxed_close(&process);
    }
    assert_sandboxed(0);
}

/* If none can be started, the pool tries again only when one is waited for. */
TEST(no_server)
{
    struct sandboxed process;
    struct standby *broken = open_server("/bin/false", NULL);
    open_pool_of(broken, 2, NULL);
    warm_pool_expect(pool, 4);
    for (int i = 0; i < 4; i++) {
        assert_false(warm_pool_take(pool, NULL, &process));
        support_pause(2);
    }
    warm_pool_close(pool);
    pool = NULL;
    standby_close(broken);
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
        fail_msg("process %d has ended and was not reaped", (int)info.si_pid);
}

/* A pool is closed in whatever state it is: no process that it started outlives it. */
TEST(closed)
{
    int before = judging_descriptors();
    for (int i = 0; i < 20; i++) {
        open_pool(1 + (uint32_t)i % 4);
        warm_pool_expect(pool, 100);
        for (int k = 0; k < i % 7; k++)
            support_pause(2);
        close_pool(state);
        assert_int_equal(judging_descriptors(), before);
    }
    warm_pool_close(NULL);
    open_pool(1000); /* more than there is room for */
    close_pool(state);
}

#define TAKERS 3
#define TURNS 8

struct taker {
    pthread_t thread;
    pid_t pids[TURNS];
    int taken;
};

static void *take_many(void *argument)
{
    struct taker *taker = argument;
    int64_t deadline_ns = clock_now_ns() + WAIT_MS * INT64_C(1000000);
    while (taker->taken < TURNS && clock_now_ns() < deadline_ns) {
        struct sandboxed process;
        if (!warm_pool_take(pool, NULL, &process))
            break;
        taker->pids[taker->taken++] = process.pid;
        sandboxed_close(&process);
    }
    return NULL;
}

TEST(threads)
{
    struct taker takers[TAKERS] = {0};
    int total = 0;
    open_pool(4);
    warm_pool_expect(pool, TAKERS * TURNS);
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_many, &takers[i]), 0);
    for (int i = 0; i < TAKERS; i++) {
        pthread_join(takers[i].thread, NULL);
        total += takers[i].taken;
    }
    assert_int_equal(total, TAKERS * TURNS);
    for (int i = 0; i < total; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(takers[i / TURNS].pids[i % TURNS],
                                 takers[k / TURNS].pids[k % TURNS]);
}

#define DYING_TURNS 150

struct hopeful {
    _Atomic int cancelled, done;
};

static void *hope(void *argument)
{
    struct hopeful *hopeful = argument;
    for (int i = 0; i < DYING_TURNS && !hopeful->cancelled; i++) {
        struct sandboxed process;
        if (warm_pool_take(pool, &hopeful->cancelled, &process))
            sandboxed_close(&process);
    }
    hopeful->done = 1;
    return NULL;
}

/* A process that dies as soon as it is ready does not count, and another one is started for the
 * thread that waits, whether its death is found at the start or when it is taken. */
TEST(dying)
{
    struct hopeful hopeful = {0};
    pthread_t thread;
    if (!boxes_have_scratch)
        skip();
    struct standby *dying = open_server("/proc/self/exe", "--serve-dying");
    open_pool_of(dying, 0, NULL);
    assert_int_equal(pthread_create(&thread, NULL, hope, &hopeful), 0);
    int64_t deadline_ns = clock_now_ns() + 3 * WAIT_MS * INT64_C(1000000);
    while (!hopeful.done && clock_now_ns() < deadline_ns)
        support_pause(2);
    bool stuck = !hopeful.done;
    hopeful.cancelled = 1;
    pthread_join(thread, NULL);
    warm_pool_close(pool);
    pool = NULL;
    standby_close(dying);
    assert_false(stuck);
}

/* A process that could not get ready is not handed out, and no thread waits for the next one. */
TEST(unready)
{
    struct sandboxed process;
    if (!boxes_have_scratch)
        skip();
    struct standby *unready = open_server("/proc/self/exe", "--serve-unready");
    open_pool_of(unready, 2, NULL);
    for (int i = 0; i < 3; i++)
        assert_false(warm_pool_take(pool, NULL, &process));
    warm_pool_close(pool);
    pool = NULL;
    standby_close(unready);
}

/* What a sandboxed process does here: it counts how often it was warmed, and says so when
 * opened. */
static int serve(bool dying, bool unready)
{
    static struct sandbox entered;
    static union wire_message message;
    static struct wire_failed report = {.type = WIRE_FAILED, .failure = FAILED_LOAD};
    struct wire_warm warm = {0};
    uint32_t layers;
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    int times = 0;
    if (server_ready(SERVER_CONTROL_FD) < 0)
        return 2;
    int channel = server_loop(SERVER_CONTROL_FD, &entered, &layers);
    while (channel >= 0 && wire_receive(channel, &message, &bytes, descriptors, NULL) == 0) {
        if (message.type == WIRE_WARM) {
            warm = message.warm;
            times++;
            if (unready && write(descriptors[0], "", 1) != 1)
                return 1;
            close(descriptors[0]);
            if (dying)
                return 0;
            continue;
        }
        snprintf(report.text, sizeof report.text, "%d times, for %s, %u queues", times,
                 warm.gpu.uuid, warm.gpu.queues);
        if (wire_send(channel, &report, sizeof report, NULL, 0, NULL) < 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--serve") == 0)
        _exit(serve(false, false)); /* the leak check at the end needs a process, too */
    if (argc == 2 && strcmp(argv[1], "--serve-dying") == 0)
        _exit(serve(true, false));
    if (argc == 2 && strcmp(argv[1], "--serve-unready") == 0)
        _exit(serve(false, true));
    return tests_run();
}
