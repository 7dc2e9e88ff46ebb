/* PyTorch's memory: each piece is announced to the judge, which maps the same pages. Both ends are
 * this process's; the GPU is the stand-in driver's. There is one pool in a process. */
#include "judge/child/segments.h"

#include "../support/fake_cuda.h"
#include "../support/judging.h"
#include "../support/test.h"
#include "base/fd_message.h"
#include "device/gpu_memory.h"
#include "judge/process/child.h"
#include "judge/process/wire.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define UNIT ((size_t)2 << 20) /* of the stand-in's memory */

static int judge = -1, child = -1; /* ends of the channel */
static struct gpu_context gpu;     /* the judge's */

FIXTURE(open_all)
{
    struct err err;
    char text[256] = "";
    fake_cuda_clean(state);
    if (fake_cuda_find(state) != 0)
        return -1;
    if (fd_message_pair(&judge, &child, &err) < 0 ||
        gpu_context_open(&gpu, fake_cuda, 0, &err) < 0 ||
        segments_open(child, fake_cuda, text, sizeof text) < 0) {
        print_error("%s%s\n", err.text, text);
        return -1;
    }
    return 0;
}

FIXTURE(close_all)
{
    gpu_context_close(&gpu);
    close(judge);
    close(child);
    return 0;
}

TEST_GROUP(open_all, close_all);

/* What was announced, mapped as the judge maps it; the caller's. */
static void receive(struct gpu_memory *memory, const void *address)
{
    static union wire_message message;
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    struct err err;
    assert_int_equal(wire_receive(judge, &message, &bytes, descriptors, &err), 0);
    assert_int_equal(message.type, WIRE_SEGMENT);
    assert_int_equal(message.segment.address, (uintptr_t)address);
    assert_true(descriptors[0] >= 0 && descriptors[1] < 0);
    assert_ok(gpu_memory_import(memory, &gpu, descriptors[0], message.segment.bytes, &err), &err);
    close(descriptors[0]);
}

/* That it is given up. */
static void expect_the_end(const void *address)
{
    static union wire_message message;
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    assert_int_equal(wire_receive(judge, &message, &bytes, descriptors, NULL), 0);
    assert_int_equal(message.type, WIRE_SEGMENT);
    assert_int_equal(message.segment.address, (uintptr_t)address);
    assert_true(descriptors[0] < 0 && message.segment.bytes == 0);
}

/* That there was no memory for so many bytes. */
static void expect_missing(uint64_t wanted)
{
    static union wire_message message;
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    assert_int_equal(wire_receive(judge, &message, &bytes, descriptors, NULL), 0);
    assert_int_equal(message.type, WIRE_SEGMENT);
    assert_int_equal(message.segment.address, 0);
    assert_int_equal(message.segment.bytes, wanted);
    assert_true(descriptors[0] < 0);
}

static void assert_silence(void)
{
    struct pollfd more = {.fd = judge, .events = POLLIN};
    assert_int_equal(poll(&more, 1, 0), 0);
}

TEST_EACH(NULL, fake_cuda_clean);

TEST(same_pages)
{
    static const ssize_t sizes[] = {1, 512, (ssize_t)UNIT, (ssize_t)UNIT + 1, (ssize_t)(20 * UNIT)};
    int before = judging_descriptors();
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct gpu_memory memory;
        char *mine = segments_alloc(sizes[i], 0, NULL);
        assert_non_null(mine);
        receive(&memory, mine);
        char *his = (char *)(uintptr_t)memory.address;
        assert_true(his != mine && memory.bytes >= (size_t)sizes[i] && memory.bytes % UNIT == 0);
        mine[0] = 'a';
        his[sizes[i] - 1] = 'b';
        assert_int_equal(his[0], sizes[i] == 1 ? 'b' : 'a');
        assert_int_equal(mine[sizes[i] - 1], 'b');
        segments_free(mine, sizes[i], 0, NULL);
        expect_the_end(mine);
        assert_int_equal(his[sizes[i] - 1], 'b'); /* what he mapped is his */
        gpu_memory_free(&memory);
    }
    assert_silence();
    assert_int_equal(judging_descriptors(), before);
}

TEST(hold)
{
    char *pieces[2];
    char elsewhere;
    for (int i = 0; i < 2; i++) {
        struct gpu_memory memory;
        pieces[i] = segments_alloc((ssize_t)UNIT, 0, NULL);
        receive(&memory, pieces[i]);
        gpu_memory_free(&memory);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(segments_hold(pieces[i]));
        assert_true(segments_hold(pieces[i] + UNIT - 1));
    }
    assert_false(segments_hold(NULL));
    assert_false(segments_hold(&elsewhere));
    assert_false(segments_hold((void *)UINTPTR_MAX));
    segments_free(&elsewhere, 1, 0, NULL); /* not the pool's: nothing happens */
    segments_free(NULL, 0, 0, NULL);
    segments_free(pieces[0], (ssize_t)UNIT, 0, NULL);
    expect_the_end(pieces[0]);
    assert_false(segments_hold(pieces[0]));
    assert_false(segments_hold(pieces[0] + UNIT - 1) && pieces[1] != pieces[0] + UNIT);
    assert_true(segments_hold(pieces[1]));
    segments_free(pieces[1], (ssize_t)UNIT, 0, NULL);
    segments_free(pieces[1], (ssize_t)UNIT, 0, NULL); /* twice */
    expect_the_end(pieces[1]);
    assert_silence();
    assert_false(segments_hold(pieces[1]));
}

/* Whether something is announced now. */
static bool is_announced(void)
{
    struct pollfd more = {.fd = judge, .events = POLLIN};
    return poll(&more, 1, 0) == 1;
}

#define AGAIN 15

/* The same large piece again and again: 1, 2, 4 and 8 of them lie in one memory. */
TEST(large_again)
{
    const ssize_t large = (ssize_t)(8 * UNIT);
    int before = judging_descriptors();
    char *pieces[AGAIN];
    int announced = 0;
    for (int i = 0; i < AGAIN; i++) {
        struct gpu_memory memory;
        pieces[i] = segments_alloc(large, 0, NULL);
        assert_non_null(pieces[i]);
        for (int k = 0; k < i; k++)
            assert_true(pieces[k] + large <= pieces[i] || pieces[i] + large <= pieces[k]);
        if (is_announced()) {
            receive(&memory, pieces[i]);
            gpu_memory_free(&memory);
            announced++;
        }
        pieces[i][0] = pieces[i][large - 1] = (char)i;
    }
    assert_int_equal(announced, 4);
    for (int i = 0; i < AGAIN; i++) {
        assert_int_equal(pieces[i][0], i);
        assert_int_equal(pieces[i][large - 1], i);
        assert_true(segments_hold(pieces[i]));
        segments_free(pieces[i], large, 0, NULL);
        if (i == 0 || i == 2 || i == 6 || i == 14)
            expect_the_end(pieces[i == 0 ? 0 : (i - 2) / 2 + 1]);
        assert_silence();
    }
    assert_int_equal(judging_descriptors(), before);
}

/* No memory is better than memory that the judge does not know. */
TEST(failures)
{
    static const char *const functions[] = {
        "cuMemGetAllocationGranularity",
        "cuMemCreate",
        "cuMemExportToShareableHandle",
        "cuMemAddressReserve",
        "cuMemMap",
        "cuMemSetAccess",
        "cuCtxSetCurrent",
    };
    int before = judging_descriptors();
    for (size_t i = 0; i < COUNT(functions); i++) {
        setenv("FAKE_CUDA_FAIL", functions[i], 1);
        assert_null(segments_alloc((ssize_t)UNIT, 0, NULL));
        fake_cuda_clean(state);
        expect_missing(UNIT);
        assert_silence();
    }
    assert_int_equal(judging_descriptors(), before);
}

static void *alloc_served(struct child *served, uint64_t bytes)
{
    struct err err;
    int64_t deadline_ns = INT64_MAX;
    struct pollfd more = {.fd = judge, .events = POLLIN};
    void *made = segments_alloc((ssize_t)bytes, 0, NULL);
    while (poll(&more, 1, 0) > 0) /* a piece may be in memory that is known */
        assert_ok(child_serve_request(served, &deadline_ns, &err), &err);
    return made;
}

static void discard_messages(void)
{
    static union wire_message message;
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    struct pollfd more = {.fd = judge, .events = POLLIN};
    while (poll(&more, 1, 0) > 0)
        assert_int_equal(wire_receive(judge, &message, &bytes, descriptors, NULL), 0);
}

struct request {
    uint64_t bytes;
    bool refused;
};

/* What the judge takes a child to do without after each request: PyTorch asks at once for the same
 * again, and takes other algorithms where it has to do without. */
TEST(what_a_child_does_without)
{
    static const struct {
        struct request requests[6];
        uint64_t lack;
    } rows[] = {
        {{{2, true}}, 2},
        {{{2, true}, {2, true}}, 2},
        {{{2, true}, {2, false}}, 0},
        {{{2, true}, {2, true}, {2, false}}, 0},
        {{{2, true}, {1, false}}, 2},
        {{{2, true}, {1, false}, {2, false}}, 2}, /* too late */
        {{{2, true}, {3, false}}, 2},             /* something else */
        {{{2, true}, {4, false}, {2, false}}, 2},
        {{{2, true}, {1, false}, {3, true}, {3, false}}, 2},
        {{{2, true}, {3, true}, {3, false}}, 2},
        {{{3, true}, {2, true}, {2, false}}, 3},
        {{{8, false}, {8, false}, {8, false}, {8, true}, {8, false}}, 0}, /* none of several */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct child served = {.process.channel = judge, .gpu = &gpu};
        void *made[6] = {0};
        for (size_t r = 0; r < 6 && rows[i].requests[r].bytes > 0; r++) {
            const struct request *request = &rows[i].requests[r];
            if (request->refused)
                setenv("FAKE_CUDA_FAIL", "cuMemCreate", 1);
            made[r] = alloc_served(&served, request->bytes * UNIT);
            fake_cuda_clean(state);
            assert_true((made[r] == NULL) == request->refused);
        }
        assert_int_equal(served.requests.lack.bytes, rows[i].lack * UNIT);
        for (size_t r = 0; r < 6; r++)
            if (made[r])
                segments_free(made[r], (ssize_t)UNIT, 0, NULL);
        discard_messages();
        for (uint32_t s = 0; s < served.requests.segment_count; s++)
            gpu_memory_free(&served.requests.segments[s].memory);
        free(served.requests.segments);
    }
}

/* As if this process had few descriptors: of each piece it keeps one. */
static void *alloc_of_few(rlim_t descriptors)
{
    struct rlimit kept;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    struct rlimit few = {.rlim_cur = descriptors, .rlim_max = kept.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    void *made = segments_alloc((ssize_t)UNIT, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
    return made;
}

/* More than there is, then all over again. */
TEST(exhaustion)
{
    static void *pieces[64];
    int before = judging_descriptors();
    for (int round = 0; round < 3; round++) {
        int count = 0;
        while (count < 64 && (pieces[count] = alloc_of_few(64))) {
            struct gpu_memory memory;
            receive(&memory, pieces[count++]);
            gpu_memory_free(&memory);
        }
        assert_in_range(count, 16, 63);
        expect_missing(UNIT);
        assert_silence();
        for (int i = 0; i < count; i++) {
            segments_free(pieces[i], (ssize_t)UNIT, 0, NULL);
            expect_the_end(pieces[i]);
        }
    }
    assert_int_equal(judging_descriptors(), before);
}

TEST(map)
{
    struct gpu_memory slots[2];
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    int before = judging_descriptors();
    for (int i = 0; i < 2; i++) { /* the second takes the place of the first */
        assert_int_equal(gpu_memory_make(&slots[i], &gpu, 3 * UNIT, NULL), 0);
        char *mapped = (char *)(uintptr_t)segments_map(slots[i].fd, slots[i].bytes);
        assert_non_null(mapped);
        ((char *)(uintptr_t)slots[i].address)[3 * UNIT - 1] = (char)('x' + i);
        assert_int_equal(mapped[3 * UNIT - 1], 'x' + i);
        assert_false(segments_hold(mapped)); /* outputs cannot lie there unnoticed */
    }
    assert_int_equal(segments_map(pipes[0], UNIT), 0);
    assert_int_equal(segments_map(-1, UNIT), 0);
    assert_int_equal(segments_map(slots[0].fd, 4 * UNIT), 0);
    assert_int_equal(segments_map(slots[0].fd, 0), 0);
    for (int i = 0; i < 2; i++)
        gpu_memory_free(&slots[i]);
    assert_silence();
    assert_int_equal(judging_descriptors(), before);
    close(pipes[0]);
    close(pipes[1]);
}

#define THREADS 4
#define ROUNDS 100

static void *allocate_many(void *failed)
{
    for (int i = 0; i < ROUNDS; i++) {
        char *mine = segments_alloc((ssize_t)UNIT, 0, NULL);
        if (!mine || !segments_hold(mine)) {
            *(int *)failed = 1;
            break;
        }
        mine[i] = 1;
        segments_free(mine, (ssize_t)UNIT, 0, NULL);
    }
    return NULL;
}

static void *listen_all(void *heard)
{
    static union wire_message message;
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    while (*(int *)heard < 2 * THREADS * ROUNDS &&
           wire_receive(judge, &message, &bytes, descriptors, NULL) == 0) {
        *(int *)heard += message.type == WIRE_SEGMENT;
        if (descriptors[0] >= 0)
            close(descriptors[0]);
    }
    return NULL;
}

TEST(threads)
{
    pthread_t threads[THREADS + 1];
    int failed[THREADS] = {0};
    int heard = 0;
    int before = judging_descriptors();
    assert_int_equal(pthread_create(&threads[THREADS], NULL, listen_all, &heard), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_many, &failed[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failed[i], 0);
    }
    pthread_join(threads[THREADS], NULL);
    assert_int_equal(heard, 2 * THREADS * ROUNDS); /* each comes and goes */
    assert_silence();
    assert_int_equal(judging_descriptors(), before);
}

/* Last, because there is no way back: without a judge there is no memory. */
TEST(no_judge)
{
    char text[16];
    int before = judging_descriptors();
    close(judge);
    judge = -1;
    for (int i = 0; i < 3; i++)
        assert_null(segments_alloc((ssize_t)UNIT, 0, NULL));
    assert_int_equal(judging_descriptors(), before - 1);
    assert_true(segments_open(child, "/no/driver.so", text, sizeof text) < 0);
    assert_true(strlen(text) > 0);
}
