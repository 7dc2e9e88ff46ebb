/* The cache of references. Most of them are processes here that do nothing; some are real ones,
 * which a judge left there. */
#include "judge/judge_internal.h"

#include "../support/judging.h"
#include "../support/setting.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pidfd.h"
#include "judge/request/judge_settings.h"
#include "problem/loader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD JUDGING_HEAD
#define YAML JUDGING_YAML("[{n: 100}, {n: 37}]", "[{n: 4}]")
#define LOOP "    for (size_t i = 0; i < n; i++)\n        y[i] = 2 * x[i];\n"
#define MODULE                                                                                     \
    "import torch\n\n\nclass %s(torch.nn.Module):\n"                                               \
    "    def forward(self, x):\n        return x + x\n\n\n"                                        \
    "def get_inputs():\n    return [torch.rand(8, 8)]\n\n\n"                                       \
    "def get_init_inputs():\n    return []\n"

static struct reference_cache references;
static struct gpu_context gpus[3]; /* nothing but their addresses is looked at */

FIXTURE(setup)
{
    reference_cache_init(&references);
    return 0;
}

FIXTURE(teardown)
{
    reference_cache_deinit(&references);
    return 0;
}

TEST_EACH(setup, teardown);

/* All that a reference can have. */
static struct reference make(const char *problem, const struct gpu_context *gpu)
{
    struct reference reference = REFERENCE_NONE;
    int ends[2];
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    assert_true(pid > 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    close(ends[1]);
    snprintf(reference.hash, sizeof reference.hash, "%s", problem);
    reference.open = true;
    reference.child.gpu = gpu;
    reference.child.process = (struct sandboxed){
        .pid = pid,
        .channel = ends[0],
        .pid_fd = pidfd_of(pid),
        .layers = 1U << LAYER_PID,
    };
    reference.child.answer = mem_alloc(sizeof *reference.child.answer);
    reference.artifact.path = mem_strdup("somewhere");
    reference.description = memfd_create("description", MFD_CLOEXEC);
    reference.weights = memfd_create("weights", MFD_CLOEXEC);
    assert_true(reference.description >= 0 && reference.weights >= 0);
    return reference;
}

static pid_t put(const char *problem, const struct gpu_context *gpu)
{
    struct reference reference = make(problem, gpu);
    pid_t pid = reference.child.process.pid;
    reference_cache_put(&references, &reference, REFERENCE_CACHE_ALL);
    assert_false(reference.open);
    assert_int_equal(reference.description, -1);
    return pid;
}

/* Its process; 0: there is none. The reference is closed. */
static pid_t taken(const char *problem, const struct gpu_context *gpu)
{
    struct reference reference;
    if (!reference_cache_take(&references, problem, gpu, &reference))
        return 0;
    pid_t pid = reference.child.process.pid;
    assert_true(reference.open && !sandboxed_ended(&reference.child.process));
    assert_string_equal(reference.hash, problem);
    assert_ptr_equal(reference.child.gpu, gpu);
    reference_close(&reference);
    return pid;
}

/* Ended, and reaped. */
static bool gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

/* A zombie, until it is reaped. */
static void end(pid_t pid)
{
    siginfo_t info;
    assert_int_equal(kill(pid, SIGKILL) | waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

TEST(by_problem_and_device)
{
    pid_t cpu = put("a", NULL);
    pid_t first = put("a", &gpus[0]);
    pid_t second = put("a", &gpus[1]);
    pid_t other = put("b", &gpus[0]);
    assert_true(reference_cache_has(&references, "a", NULL) &&
                reference_cache_has(&references, "b", &gpus[0]));
    assert_false(reference_cache_has(&references, "b", NULL) ||
                 reference_cache_has(&references, "b", &gpus[1]) ||
                 reference_cache_has(&references, "c", &gpus[0]) ||
                 reference_cache_has(&references, "", NULL));
    assert_int_equal(taken("b", NULL), 0);
    assert_int_equal(taken("b", &gpus[1]), 0);
    assert_int_equal(taken("c", &gpus[0]), 0);
    assert_int_equal(taken("a", &gpus[1]), second);
    assert_int_equal(taken("a", NULL), cpu);
    assert_int_equal(taken("b", &gpus[0]), other);
    assert_int_equal(taken("a", &gpus[0]), first);
    assert_null(references.newest);
}

TEST(newest_first)
{
    pid_t pids[3];
    for (int i = 0; i < 3; i++) {
        pids[i] = put("a", &gpus[0]);
        put("b", &gpus[0]);
    }
    for (int i = 2; i >= 0; i--)
        assert_int_equal(taken("a", &gpus[0]), pids[i]);
    assert_false(reference_cache_has(&references, "a", &gpus[0]));
    assert_true(reference_cache_has(&references, "b", &gpus[0]));
}

/* A dead one is not handed out, and does not stay. */
TEST(dead)
{
    int before = judging_descriptors();
    pid_t old = put("a", NULL);
    pid_t newer = put("a", NULL);
    pid_t newest = put("a", NULL);
    end(newest);
    end(newer);
    assert_int_equal(taken("a", NULL), old);
    assert_true(gone(newest) && gone(newer) && gone(old));
    pid_t only = put("a", NULL);
    end(only);
    assert_int_equal(taken("a", NULL), 0);
    assert_true(gone(only));
    assert_null(references.newest);
    assert_int_equal(judging_descriptors(), before);
}

/* The oldest of its device makes room. */
TEST(places)
{
    pid_t other[2] = {put("a", NULL), put("a", &gpus[1])};
    pid_t pids[2 * REFERENCE_CACHE_PER_DEVICE];
    for (int i = 0; i < 2 * REFERENCE_CACHE_PER_DEVICE; i++) {
        pids[i] = put(i % 2 ? "a" : "b", &gpus[0]);
        for (int k = 0; k <= i; k++)
            assert_int_equal(gone(pids[k]), k <= i - REFERENCE_CACHE_PER_DEVICE);
    }
    assert_false(gone(other[0]) || gone(other[1]));
    assert_int_equal(taken("a", &gpus[1]), other[1]);
    assert_int_equal(reference_cache_clear(&references, &gpus[0]), REFERENCE_CACHE_PER_DEVICE);
}

static pid_t put_large(const char *problem, uint64_t bytes)
{
    struct reference reference = make(problem, &gpus[2]);
    pid_t pid = reference.child.process.pid;
    reference.child.requests.segment_bytes = bytes / 2; /* PyTorch's */
    reference.child.arrays.bytes = bytes - bytes / 2;   /* the judge's: its arguments */
    reference_cache_put(&references, &reference, 1000);
    return pid;
}

/* Together they have no more of a GPU's memory than they may; a large one displaces no newer small
 * one. */
TEST(memory)
{
    pid_t elsewhere = put("large", &gpus[0]);
    pid_t first = put_large("a", 600);
    pid_t second = put_large("b", 300);
    assert_false(gone(first) || gone(second));
    pid_t third = put_large("c", 200);
    assert_true(gone(first) && !gone(second) && !gone(third));
    pid_t larger_than_all = put_large("d", 1001);
    assert_true(gone(larger_than_all) && !gone(second) && !gone(third));
    reference_cache_trim(&references, &gpus[2], 499);
    assert_true(gone(second) && !gone(third));
    reference_cache_trim(&references, &gpus[2], 200);
    assert_int_equal(taken("c", &gpus[2]), third);
    assert_int_equal(taken("large", &gpus[0]), elsewhere);
}

TEST(clear)
{
    int before = judging_descriptors();
    pid_t kept = put("a", &gpus[1]);
    int with_one = judging_descriptors();
    pid_t cleared[3] = {put("a", &gpus[0]), put("b", &gpus[0]), put("b", &gpus[0])};
    pid_t cpu = put("a", NULL);
    assert_int_equal(reference_cache_clear(&references, &gpus[0]), 3);
    assert_int_equal(reference_cache_clear(&references, &gpus[0]), 0);
    for (int i = 0; i < 3; i++)
        assert_true(gone(cleared[i]));
    assert_int_equal(reference_cache_clear(&references, NULL), 1);
    assert_true(gone(cpu) && !gone(kept));
    assert_int_equal(judging_descriptors(), with_one);
    reference_cache_deinit(&references);
    reference_cache_init(&references);
    assert_true(gone(kept));
    assert_int_equal(judging_descriptors(), before);
}

#define THREADS 4
#define TURNS 200

/* Takes one and puts it back; makes none. Gives `trouble` back where there was any. */
static void *borrow(void *trouble)
{
    for (int i = 0; i < TURNS; i++) {
        struct reference reference;
        const char *problem = i % 2 ? "a" : "b";
        if (!reference_cache_take(&references, problem, &gpus[0], &reference))
            continue;
        if (strcmp(reference.hash, problem) != 0)
            return trouble;
        reference.torch_layout.count++; /* no other thread has it */
        reference_cache_put(&references, &reference, REFERENCE_CACHE_ALL);
        (void)reference_cache_has(&references, problem, &gpus[0]);
    }
    return NULL;
}

TEST(threads)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < REFERENCE_CACHE_PER_DEVICE; i++)
        put(i % 2 ? "a" : "b", &gpus[0]);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, borrow, &references), 0);
    for (int i = 0; i < THREADS; i++) {
        void *trouble;
        pthread_join(threads[i], &trouble);
        assert_null(trouble);
    }
    assert_int_equal(reference_cache_clear(&references, &gpus[0]), REFERENCE_CACHE_PER_DEVICE);
}

static struct problem problem;

FIXTURE(open_judge)
{
    static const char *const words[] = {"run.timeout_ms=1m", "run.load_timeout_ms=1m", NULL};
    judging_begin(words);
    return 0;
}

FIXTURE(close_judge)
{
    problem_deinit(&problem);
    return judging_end(state);
}

TEST_EACH(open_judge, close_judge);

/* The process of the reference that rests; 0: none does. */
static pid_t resting(void)
{
    struct reference reference;
    if (!reference_cache_take(&judging.judge->references, problem.hash, NULL, &reference))
        return 0;
    pid_t pid = reference.child.process.pid;
    assert_true(reference.child.process.frozen && !reference.child.affinity);
    reference_cache_put(&judging.judge->references, &reference, REFERENCE_CACHE_ALL);
    return pid;
}

/* Two sessions in turn, with one reference and nothing left of either. */
static void judge_in_turn(const char *path, const char *right, const char *wrong)
{
    struct session *sessions[2] = {session_new(judging.judge), session_new(judging.judge)};
    assert_int_equal(resting(), 0);
    assert_int_equal(judging_status(sessions[0], &problem, path, right), STATUS_PASSED);
    pid_t pid = resting();
    assert_true(pid > 0);
    int before = judging_descriptors();
    for (int i = 1; i < 5; i++) {
        assert_int_equal(judging_status(sessions[i % 2], &problem, path, i == 3 ? wrong : right),
                         i == 3 ? STATUS_WRONG : STATUS_PASSED);
        assert_int_equal(resting(), pid);
        assert_int_equal(judging_descriptors(), before);
    }
    session_free(sessions[0]);
    assert_int_equal(judging_status(sessions[1], &problem, path, right), STATUS_PASSED);
    session_free(sessions[1]);
    assert_int_equal(resting(), pid);
    assert_int_equal(reference_cache_clear(&judging.judge->references, NULL), 1);
    assert_true(gone(pid));
}

TEST(sessions_share_one)
{
    judging_problem(&problem, judging.place, "twice", YAML, HEAD LOOP "}\n");
    judge_in_turn("candidate.c", HEAD LOOP "}\n", HEAD "y[0] = x[0];\n}\n");
}

TEST(sessions_share_one_of_torch)
{
    struct err err = {0};
    struct standby *standby;
    char *path = mem_printf("%s/twice.py", judging.place);
    char *text = mem_printf(MODULE, "Model");
    char *candidate = mem_printf(MODULE, "ModelNew");
    char *wrong = mem_printf("import torch\n\n\nclass ModelNew(torch.nn.Module):\n"
                             "    def forward(self, x):\n        return x\n");
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0 && fclose(stream) == 0);
    set(&judging.settings, "run.threads=1");
    assert_ok(problem_load(&problem, path, NULL, &err), &err);
    bool there = spawner_standby(&judging.judge->spawner, SANDBOX_TORCH, &standby, &err) == 0 &&
                 standby_ready(standby, &err) == 0;
    if (there)
        judge_in_turn("candidate.py", candidate, wrong);
    mem_free(path);
    mem_free(text);
    mem_free(candidate);
    mem_free(wrong);
    if (!there) {
        print_message("no PyTorch here: %s\n", err.text);
        skip();
    }
}

/* Cancels when the process computes, and only then. */
static void *cancel_when_busy(void *pid)
{
    long start = sandboxed_stat(*(pid_t *)pid, 14);
    int64_t deadline_ns = clock_now_ns() + 30 * INT64_C(1000000000);
    while (sandboxed_stat(*(pid_t *)pid, 14) < start + 20 && clock_now_ns() < deadline_ns)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    judging.cancelled = 1;
    return NULL;
}

/* A reference in the middle of a call has an answer to come, which is not for the next session. */
TEST(cancelled_within_a_call)
{
    pthread_t thread;
    judging_problem(&problem, judging.place, "endless", YAML, HEAD "for (;;);\n}\n");
    struct session *session = session_new(judging.judge);
    assert_int_equal(judging_status(session, &problem, "candidate.c", "}\n"), STATUS_COMPILE_ERROR);
    pid_t pid = resting();
    assert_true(pid > 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_busy, &pid), 0);
    assert_int_equal(judging_status(session, &problem, "candidate.c", HEAD LOOP "}\n"),
                     STATUS_CANCELLED);
    pthread_join(thread, NULL);
    assert_true(gone(pid));
    assert_int_equal(resting(), 0);
    session_free(session);
}
