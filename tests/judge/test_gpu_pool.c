#include "../support/fake_cuda.h"
#include "../support/test.h"
#include "base/clock.h"
#include "judge/gpu/gpu_pool.h"

#include <pthread.h>
#include <stdlib.h>

#define MOST 3

static struct gpu_pool pool;
static int probes, probe_fails;

static int probe(void *context, const struct gpu *facts, struct err *err)
{
    probes++;
    return probe_fails ? err_set(err, ERR_IO, "it does not answer") : 0;
}

static void open_pool(const char *devices, int64_t quarantine_ms)
{
    struct gpu_pool_options options = {.driver = fake_cuda,
                                       .nvml = fake_nvml,
                                       .devices = devices,
                                       .quarantine_ms = quarantine_ms,
                                       .slots = MOST,
                                       .probe = probe};
    gpu_pool_init(&pool, &options);
}

FIXTURE(setup)
{
    probes = probe_fails = 0;
    return fake_cuda_clean(state);
}

FIXTURE(teardown)
{
    gpu_pool_deinit(&pool);
    gpu_pool_deinit(&pool);
    return fake_cuda_clean(state);
}

static struct gpu_unit *take(const struct gpu_unit *before)
{
    struct gpu_unit *unit = NULL;
    struct err err;
    assert_ok(gpu_pool_take(&pool, before, &unit, &err), &err);
    return unit;
}

static void break_gpu(const char *function, const char *ordinal)
{
    setenv("FAKE_CUDA_FAIL", function, 1);
    setenv("FAKE_CUDA_FAIL_ON", ordinal, 1);
    setenv("FAKE_CUDA_ERROR", "719", 1);
}

/* Its time in quarantine is over. */
static void let_pass(struct gpu_unit *unit)
{
    assert_true(unit->state == GPU_QUARANTINED && unit->until_ns > 0);
    unit->until_ns = 0;
}

TEST_GROUP(fake_cuda_find, NULL);
TEST_EACH(setup, teardown);

TEST(the_least_loaded)
{
    setenv("FAKE_CUDA_DEVICES", "3", 1);
    open_pool("all", 60000);
    struct gpu_unit *taken[5];
    for (int i = 0; i < 5; i++) {
        taken[i] = take(NULL);
        assert_int_equal(taken[i]->facts.ordinal, i % 3);
        assert_string_equal(gpu_unit_context(taken[i])->facts.uuid, taken[i]->facts.uuid);
    }
    gpu_pool_give_back(&pool, taken[1]);
    gpu_pool_give_back(&pool, taken[4]);
    assert_ptr_equal(take(NULL), taken[1]);
    gpu_pool_give_back(&pool, taken[1]);
    gpu_pool_give_back(&pool, taken[2]);
    assert_ptr_equal(take(taken[2]), taken[2]); /* of equals the one that it had */
}

TEST(devices)
{
    static const struct {
        const char *devices;
        int code, count, ordinals[3];
        const char *text;
    } rows[] = {
        {"all", 0, 3, {0, 1, 2}, NULL},
        {"2,0", 0, 2, {2, 0}, NULL},
        {" 1 , 1 ,2", 0, 2, {1, 2}, NULL},
        {"GPU-01112131-4151-6171-8191-a1b1c1d1e1f1", 0, 1, {1}, NULL},
        {"0 GPU-02", 0, 2, {0, 2}, NULL},
        {"3", ERR_INPUT, 0, {0}, "no GPU '3' among the 3"},
        {"-1", ERR_INPUT, 0, {0}, "no GPU '-1'"},
        {"1x", ERR_INPUT, 0, {0}, "no GPU '1x'"},
        {"GPU-", ERR_INPUT, 0, {0}, "no GPU 'GPU-'"},
        {"GPU-ff", ERR_INPUT, 0, {0}, "no GPU 'GPU-ff'"},
        {"", ERR_MISSING, 0, {0}, "names no GPU"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        setenv("FAKE_CUDA_DEVICES", "3", 1);
        open_pool(rows[i].devices, 60000);
        int result = gpu_pool_list(&pool, &err);
        if (result != rows[i].code || pool.count != rows[i].count ||
            (rows[i].text && !strstr(err.text, rows[i].text)))
            fail_msg("'%s': %s (%s)", rows[i].devices, err_name(result), err.text);
        for (int unit = 0; unit < pool.count; unit++)
            assert_int_equal(pool.units[unit].facts.ordinal, rows[i].ordinals[unit]);
        assert_int_equal(gpu_pool_list(&pool, NULL), result); /* it remembers */
        gpu_pool_deinit(&pool);
    }
}

TEST(no_driver)
{
    struct gpu_unit *unit;
    struct err err;
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    open_pool("all", 60000);
    assert_int_equal(gpu_pool_take(&pool, NULL, &unit, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "no GPU that it may use"));
    assert_null(unit);
    assert_string_equal(gpu_pool_directory(&pool), "");
}

/* A fault of the judge's own context: others go on elsewhere, and it comes back when a fresh
 * process can use it, with a context of its own. */
TEST(quarantine_and_back)
{
    struct err err = {0};
    open_pool("all", 60000);
    struct gpu_unit *first = take(NULL);
    struct gpu_unit *second = take(NULL);
    const struct gpu_context *old = gpu_unit_context(first);
    assert_false(gpu_pool_suspect(&pool, first, &err)); /* nothing is wrong with it */
    break_gpu("cuCtxSynchronize", "0");
    assert_true(gpu_pool_suspect(&pool, first, &err));
    assert_non_null(strstr(err.text, "GPU 0 failed and gets no more work for now"));
    assert_non_null(strstr(err.text, "719"));
    assert_false(gpu_pool_suspect(&pool, second, &err));
    assert_true(gpu_pool_any(&pool));
    assert_ptr_equal(take(first), second);
    let_pass(first);
    assert_ptr_equal(take(first), second); /* another evaluation is still on it */
    assert_int_equal(probes, 0);
    gpu_pool_give_back(&pool, first);
    probe_fails = 1;
    assert_ptr_equal(take(first), second);
    assert_int_equal(probes, 1);
    probe_fails = 0;
    unsetenv("FAKE_CUDA_FAIL");
    assert_ptr_equal(take(first), second);
    assert_int_equal(probes, 1);
    assert_int_equal(first->pause_ms, 120000); /* twice as long now */
    let_pass(first);
    assert_ptr_equal(take(first), first);
    assert_int_equal(probes, 2);
    assert_true(gpu_unit_context(first) != old && !old->open && gpu_unit_context(first)->open);
}

TEST(all_in_quarantine)
{
    struct gpu_unit *unit;
    struct err err;
    open_pool("0", 60000);
    break_gpu("cuMemcpyDtoH_v2", "0");
    assert_int_equal(gpu_pool_take(&pool, NULL, &unit, &err), ERR_IO);
    assert_non_null(strstr(err.text, "the GPU is in quarantine"));
    assert_non_null(strstr(err.text, "cannot read arguments from the GPU"));
    assert_false(gpu_pool_any(&pool));
    assert_int_equal(gpu_pool_try(&pool, &pool.units[0], &err), ERR_IO);
    assert_non_null(strstr(err.text, "719"));
}

/* One that does not open is passed over; memory that others have filled is no fault of it. */
TEST(one_that_does_not_open)
{
    open_pool("all", 60000);
    break_gpu("cuDevicePrimaryCtxRetain", "0");
    struct gpu_unit *unit = take(NULL);
    assert_int_equal(unit->facts.ordinal, 1);
    assert_int_equal(pool.units[0].state, GPU_QUARANTINED);
    break_gpu("cuMemCreate", "1");
    setenv("FAKE_CUDA_ERROR", "2", 1);
    assert_false(gpu_pool_suspect(&pool, unit, NULL));
    assert_int_equal(gpu_pool_try(&pool, unit, NULL), 0);
}

/* A context that broke while it was not taken is found when it is taken next. */
TEST(found_broken)
{
    open_pool("all", 60000);
    struct gpu_unit *first = take(NULL);
    gpu_pool_give_back(&pool, first);
    assert_int_equal(first->facts.ordinal, 0);
    break_gpu("cuCtxSetCurrent", "0");
    struct gpu_unit *second = take(first);
    assert_int_equal(second->facts.ordinal, 1);
    assert_int_equal(first->state, GPU_QUARANTINED);
    assert_int_equal(first->evaluations, 0);
}

/* What the management library says counts, too. */
TEST(unsound)
{
    struct err err;
    open_pool("1", 60000);
    struct gpu_unit *unit = take(NULL);
    setenv("FAKE_NVML_BROKEN", "1", 1);
    assert_true(gpu_pool_suspect(&pool, unit, &err));
    assert_non_null(strstr(err.text, "cannot be repaired"));
    assert_true(gpu_pool_suspect(&pool, unit, &err)); /* another evaluation there */
}

TEST(uncorrected_errors)
{
    struct err err;
    open_pool("1", 60000);
    struct gpu_unit *unit = take(NULL);
    assert_false(gpu_pool_suspect(&pool, unit, &err));
    setenv("FAKE_NVML_ECC", "2", 1);
    assert_true(gpu_pool_suspect(&pool, unit, &err));
    assert_non_null(strstr(err.text, "could not be corrected"));
}

/* Gives `trouble` back where there was any. */
static void *takes(void *trouble)
{
    struct gpu_unit *before = NULL;
    for (int i = 0; i < 200; i++) {
        struct gpu_unit *unit = NULL;
        if (gpu_pool_take(&pool, before, &unit, NULL) < 0)
            return trouble;
        if (!gpu_unit_context(unit)->open)
            return trouble;
        gpu_pool_give_back(&pool, unit);
        before = unit;
    }
    return NULL;
}

TEST(threads)
{
    pthread_t threads[8];
    open_pool("all", 60000);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, takes, &pool), 0);
    for (int i = 0; i < 8; i++) {
        void *trouble;
        pthread_join(threads[i], &trouble);
        assert_null(trouble);
    }
    for (int i = 0; i < pool.count; i++)
        assert_int_equal(pool.units[i].evaluations, 0);
}

/* A thread that wants slots, and gives them back when `leave` says so. */
struct guest {
    pthread_t thread;
    struct gpu_unit *unit;
    int slots;
    _Atomic int cancelled, leave, inside;
    int result;
};

static void *visit(void *argument)
{
    struct guest *guest = argument;
    guest->result = gpu_pool_take_slots(&pool, guest->unit, guest->slots, &guest->cancelled, NULL);
    if (guest->result < 0)
        return NULL;
    guest->inside = 1;
    while (!guest->leave)
        support_pause(2);
    guest->inside = 0;
    gpu_pool_free_slots(&pool, guest->unit, guest->slots);
    return NULL;
}

static void begin(struct guest *guest, struct gpu_unit *unit, int slots)
{
    *guest = (struct guest){.unit = unit, .slots = slots};
    assert_int_equal(pthread_create(&guest->thread, NULL, visit, guest), 0);
}

static void finish(struct guest *guest)
{
    guest->leave = 1;
    pthread_join(guest->thread, NULL);
}

static void await(const _Atomic int *value, int wanted)
{
    int64_t deadline_ns = clock_now_ns() + INT64_C(20000000000);
    while (*value != wanted && clock_now_ns() < deadline_ns)
        support_pause(2);
    assert_int_equal(*value, wanted);
}

static bool someone_waits(const struct gpu_unit *unit)
{
    pthread_mutex_lock(&pool.lock);
    bool waits = unit->queue;
    pthread_mutex_unlock(&pool.lock);
    return waits;
}

/* A thread waits as long as there is no slot, and gets one when there is. */
TEST(slots)
{
    struct guest guests[MOST + 1];
    struct guest elsewhere;
    open_pool("all", 60000);
    struct gpu_unit *unit = take(NULL);
    struct gpu_unit *other = take(NULL);
    for (int i = 0; i < MOST; i++) {
        begin(&guests[i], unit, 1);
        await(&guests[i].inside, 1);
    }
    begin(&guests[MOST], unit, 1);
    begin(&elsewhere, other, 1);
    await(&elsewhere.inside, 1); /* each GPU has slots of its own */
    for (int i = 0; i < 60; i++, support_pause(2))
        assert_true(!guests[MOST].inside && unit->slots_used == MOST);
    finish(&guests[1]);
    await(&guests[MOST].inside, 1);
    finish(&elsewhere);
    finish(&guests[0]);
    finish(&guests[2]);
    finish(&guests[MOST]);
    assert_int_equal(unit->slots_used | other->slots_used, 0);
}

TEST(cancelled_outside)
{
    struct guest waiting[2];
    open_pool("0", 60000);
    struct gpu_unit *unit = take(NULL);
    assert_int_equal(gpu_pool_take_slots(&pool, unit, MOST, NULL, NULL), 0);
    begin(&waiting[0], unit, 1);
    begin(&waiting[1], unit, MOST);
    support_pause(2);
    for (int i = 0; i < 2; i++) {
        waiting[i].cancelled = 1;
        pthread_join(waiting[i].thread, NULL);
        assert_int_equal(waiting[i].result, ERR_CANCELLED);
        assert_int_equal(unit->slots_used, MOST);
    }
    gpu_pool_free_slots(&pool, unit, MOST);
    assert_true(unit->slots_used == 0 && !unit->queue);
    assert_int_equal(gpu_pool_take_slots(&pool, unit, 1, NULL, NULL), 0); /* freed again */
    gpu_pool_free_slots(&pool, unit, 1);
}

/* Where there is room for those behind, too, and whatever they want. */
TEST(in_their_order)
{
    static const int wanted[] = {MOST, MOST - 1, 1, MOST};
    struct guest first;
    struct guest guests[COUNT(wanted)];
    open_pool("0", 60000);
    struct gpu_unit *unit = take(NULL);
    begin(&first, unit, 1);
    await(&first.inside, 1);
    for (size_t i = 0; i < COUNT(wanted); i++) {
        begin(&guests[i], unit, wanted[i]);
        support_pause(60);
    }
    for (size_t i = 0; i < COUNT(wanted); i++)
        assert_false(guests[i].inside);
    finish(&first);
    await(&guests[0].inside, 1);
    assert_false(guests[1].inside || guests[2].inside || guests[3].inside);
    finish(&guests[0]);
    await(&guests[1].inside, 1);
    await(&guests[2].inside, 1);
    finish(&guests[1]);
    assert_false(guests[3].inside);
    finish(&guests[2]);
    await(&guests[3].inside, 1);
    finish(&guests[3]);
    assert_true(unit->slots_used == 0 && !unit->queue);
}

/* A request for all slots is served, however many others come after it. */
TEST(alone)
{
    struct guest first;
    struct guest alone;
    struct guest later;
    open_pool("0", 60000);
    struct gpu_unit *unit = take(NULL);
    begin(&first, unit, 1);
    await(&first.inside, 1);
    begin(&alone, unit, MOST);
    while (!someone_waits(unit))
        support_pause(2);
    begin(&later, unit, 1); /* two slots are free */
    for (int i = 0; i < 60; i++, support_pause(2))
        assert_false(alone.inside || later.inside);
    finish(&first);
    await(&alone.inside, 1);
    for (int i = 0; i < 60; i++, support_pause(2))
        assert_false(later.inside);
    finish(&alone);
    await(&later.inside, 1);
    finish(&later);
    assert_true(unit->slots_used == 0 && !unit->queue);
}

static void *come_and_go(void *argument)
{
    struct guest *guest = argument;
    for (int i = 0; i < 300 && guest->result == 0; i++) {
        guest->result = gpu_pool_take_slots(&pool, guest->unit, guest->slots, NULL, NULL);
        if (guest->result == 0 && guest->unit->slots_used > MOST)
            guest->result = ERR_INTERNAL;
        gpu_pool_free_slots(&pool, guest->unit, guest->slots);
    }
    return NULL;
}

TEST(slots_of_threads)
{
    struct guest guests[8];
    open_pool("0", 60000);
    struct gpu_unit *unit = take(NULL);
    for (int i = 0; i < 8; i++) {
        guests[i] = (struct guest){.unit = unit, .slots = i % 4 ? 1 : MOST};
        assert_int_equal(pthread_create(&guests[i].thread, NULL, come_and_go, &guests[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(guests[i].thread, NULL);
        assert_int_equal(guests[i].result, 0);
    }
    assert_true(unit->slots_used == 0 && !unit->queue);
}

/* Without kernels to measure with, bounds; there may be some later. */
TEST(peaks)
{
    open_pool("0", 60000);
    struct gpu_unit *unit = take(NULL);
    gpu_unit_peaks(unit, NULL);
    assert_true(unit->peaks.runs == 0 && unit->peaks.dram_bytes_per_s > 4e12);
    assert_false(unit->have_peaks);
}
