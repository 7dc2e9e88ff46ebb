/* A GPU is leased and given back: whatever becomes of a candidate, nothing of it stays behind. The
 * driver and the compiler only look like NVIDIA's (tests/fake). */
#include "judge/session_internal.h"

#include "../support/fake_cuda.h"
#include "../support/judging.h"
#include "../support/test.h"
#include "base/clock.h"
#include "base/file.h"
#include "problem/loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define REFERENCE                                                                                  \
    "#include <stddef.h>\nvoid solution(const float *x, float *y, size_t n)\n{\n"                  \
    "    for (size_t i = 0; i < n; i++)\n        y[i] = 2 * x[i];\n}\n"
#define CUDA(body)                                                                                 \
    "#include <stddef.h>\nextern \"C\" void solution(const float *x, float *y, size_t n)\n{\n"     \
    "    for (size_t i = 0; i < n; i++)\n        y[i] = 2 * x[i];\n" body "}\n"
#define YAML                                                                                       \
    "name: twice\nsummary: A problem of a test.\n"                                                 \
    "signature: void solution(const float *x, float *y, size_t n)\n"                               \
    "arguments:\n"                                                                                 \
    "  x: {role: in, type: f32, shape: [n], fill: normal}\n"                                       \
    "  y: {role: out, type: f32, shape: [n]}\n"                                                    \
    "  n: {role: size}\n"                                                                          \
    "tolerance: {relative: 1.0e-5}\ncheck: [{n: 100}]\ntime: [{n: 40}]\n"

static char *place;
static struct settings settings;
static _Atomic int cancelled;
static struct judge *judge;
static struct problem problem;

static void write_part(const char *name, const char *text)
{
    char *path = support_text("%s/twice/%s", place, name);
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, NULL), 0);
}

FIXTURE(setup)
{
    struct err err = {0};
    cancelled = 0;
    fake_cuda_clean(state);
    place = support_directory();
    char *nvcc = realpath("tests/fake/nvcc", NULL);
    char *folder = support_text("%s/twice", place);
    if (nvcc)
        setenv("WARPGYM_NVCC", nvcc, 1);
    else
        fail_msg("tests/fake/nvcc: run this in the project's own folder");
    setenv("XDG_STATE_HOME", place, 1);
    free(nvcc);
    judging_settings(&settings, place);
    const char *assignments[] = {
        support_text("gpu.driver=%s", fake_cuda),
        support_text("gpu.nvml=%s", fake_nvml),
        "run.timeout_ms=1s",
        "gpu.slots=3",
        "timing.min_samples=4",
        "timing.max_samples=6",
        "timing.gpu_budget_ms=50ms",
    };
    for (size_t i = 0; i < COUNT(assignments); i++)
        assert_ok(settings_assign(&settings, assignments[i], &err), &err);
    assert_ok(file_make_directories(folder, 0755, &err), &err);
    write_part("problem.yaml", YAML);
    write_part("reference.c", REFERENCE);
    write_part("reference.cu", CUDA(""));
    assert_ok(problem_load(&problem, folder, "twice", &err), &err);
    return 0;
}

FIXTURE(teardown)
{
    problem_deinit(&problem);
    settings_deinit(&settings);
    return fake_cuda_clean(state);
}

static void open_judge(void)
{
    judge = judging_open(&(struct judge_options){.settings = &settings, .cancelled = &cancelled});
}

/* With which all that the judge started has ended. */
static void close_judge(void)
{
    judge_close(judge);
    pid_t left;
    assert_int_equal(judging_children(&left, 1), 0);
}

static void assert_left(const struct session *session, int evaluations)
{
    assert_true(session->lease.turn.lock.held < 0 && !session->lease.unit && !session->lease.gpu);
    assert_int_equal(session->lease.slots | (int)session->reserve.count, 0);
    assert_false(session->reference.open || session->trials.gpu.image.bytes);
    for (int i = 0; i < judge->gpus.count; i++) {
        const struct gpu_unit *unit = &judge->gpus.units[i];
        assert_int_equal(unit->slots_used | unit->busy.users, 0);
        assert_true(!unit->queue && unit->planned_bytes == 0);
        assert_int_equal(unit->evaluations, evaluations);
    }
}

TEST_GROUP(fake_cuda_find, NULL);
TEST_EACH(setup, teardown);

TEST(whatever_becomes_of_it)
{
    static const struct {
        const char *text;
        enum verdict_status status;
    } rows[] = {
        {CUDA(""), STATUS_PASSED},
        {CUDA("y[0] += 1;"), STATUS_WRONG},
        {"}\n", STATUS_COMPILE_ERROR},
        {"int nothing;\n", STATUS_LOAD_ERROR},
        {CUDA("*(volatile int *)8 = 1;"), STATUS_RUNTIME_ERROR},
        {CUDA("for (volatile int i = 1; i;);"), STATUS_TIMEOUT},
        {CUDA(""), STATUS_PASSED},
    };
    int before = judging_descriptors();
    open_judge();
    struct session *session = session_new(judge);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(judging_status(session, &problem, "candidate.cu", rows[i].text),
                         rows[i].status);
        assert_left(session, 0);
    }
    session_free(session);
    close_judge();
    assert_int_equal(judging_descriptors(), before);
}

static void *cancel_later(void *condition)
{
    const int *placed = condition;
    for (int i = 0; i < 2000; i++, support_pause(2)) {
        pthread_mutex_lock(&judge->gpus.lock);
        bool there = judge->gpus.units && *placed == 0 && i > 100;
        pthread_mutex_unlock(&judge->gpus.lock);
        if (there)
            break;
    }
    cancelled = 1;
    return NULL;
}

/* Another session has all slots of the only GPU. */
TEST(cancelled_while_it_waits)
{
    static const int none = 0;
    struct gpu_unit *unit;
    pthread_t thread;
    setenv("FAKE_CUDA_DEVICES", "1", 1);
    open_judge();
    struct session *session = session_new(judge);
    assert_int_equal(gpu_pool_take(&judge->gpus, NULL, &unit, NULL), 0);
    assert_int_equal(gpu_pool_take_slots(&judge->gpus, unit, 3, NULL, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, (void *)(uintptr_t)&none), 0);
    assert_int_equal(judging_status(session, &problem, "candidate.cu", CUDA("")), STATUS_CANCELLED);
    pthread_join(thread, NULL);
    assert_int_equal(unit->slots_used, 3);
    gpu_pool_free_slots(&judge->gpus, unit, 3);
    assert_left(session, 1);
    gpu_pool_give_back(&judge->gpus, unit);
    session_free(session);
    close_judge();
}

static void *free_the_other(void *unused)
{
    struct gpu_pool *pool = &judge->gpus;
    for (bool taken = false; !taken; support_pause(2)) {
        pthread_mutex_lock(&pool->lock);
        taken = pool->units[0].evaluations == 2;
        pthread_mutex_unlock(&pool->lock);
    }
    gpu_pool_give_back(pool, &pool->units[1]);
    return unused;
}

/* No memory for both children among others; the second attempt, alone, is on another GPU than the
 * first one's reference. */
TEST(second_attempt_elsewhere)
{
    struct gpu_unit *others[2];
    pthread_t thread;
    setenv("FAKE_CUDA_MEMORY", "2", 1);
    int before = judging_descriptors();
    open_judge();
    struct session *session = session_new(judge);
    for (int i = 0; i < 2; i++)
        assert_int_equal(gpu_pool_take(&judge->gpus, NULL, &others[i], NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, free_the_other, NULL), 0);
    assert_int_not_equal(judging_status(session, &problem, "candidate.cu", CUDA("")),
                         STATUS_PASSED);
    pthread_join(thread, NULL);
    assert_ptr_equal(session->lease.before, others[1]);
    gpu_pool_give_back(&judge->gpus, others[0]);
    assert_left(session, 0);
    session_free(session);
    close_judge();
    assert_int_equal(judging_descriptors(), before);
}

/* A GPU that failed is about to be opened anew: what is cached in its old context is closed. */
TEST(cache_of_a_failed_gpu)
{
    struct gpu_unit *units[2];
    open_judge();
    struct session *session = session_new(judge);
    assert_int_equal(judging_status(session, &problem, "candidate.cu", CUDA("")), STATUS_PASSED);
    for (int i = 0; i < 2; i++)
        assert_int_equal(gpu_pool_take(&judge->gpus, NULL, &units[i], NULL), 0);
    assert_true(reference_cache_has(&judge->references, problem.hash, gpu_unit_context(units[0])));
    (void)!judge_probe_gpu(judge, &units[1]->facts, NULL);
    assert_true(reference_cache_has(&judge->references, problem.hash, gpu_unit_context(units[0])));
    (void)!judge_probe_gpu(judge, &units[0]->facts, NULL);
    assert_false(reference_cache_has(&judge->references, problem.hash, gpu_unit_context(units[0])));
    for (int i = 0; i < 2; i++)
        gpu_pool_give_back(&judge->gpus, units[i]);
    session_free(session);
    close_judge();
}
