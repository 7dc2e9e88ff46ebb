/* Every op, forward and backward, on the fast backend with each instruction set against the plain
 * one, over random arrays of odd sizes; and what the fast one promises beside: one result for one
 * input. */
#include "../support/lm_op_cases.h"
#include "../support/test.h"
#include "lm/cpu/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static struct lm_backend *open_backend(const char *name, size_t threads)
{
    struct lm_backend *backend = NULL;
    struct err err;
    assert_ok(lm_backend_open(&backend, name, threads, &err), &err);
    return backend;
}

static void run(struct lm_op_case *c, struct lm_backend *backend)
{
    struct err err;
    if (lm_op_case_run(c, backend, true, &err) < 0)
        fail_msg("%s, %s: %s", c->op, c->variant, err.text);
}

static void compare(const struct lm_op_case *wanted, const struct lm_op_case *got, const char *who,
                    double bound)
{
    for (size_t a = 0; a < wanted->count; a++) {
        const struct lm_op_array *want = &wanted->arrays[a], *found = &got->arrays[a];
        long far = lm_op_array_far(want, found, bound);
        if (far >= 0)
            fail_msg("%s, %s, %s: %s[%ld] is %.9g, not %.9g", wanted->op, wanted->variant, who,
                     want->name, far, found->found[far], want->found[far]);
    }
}

TEST(against_reference)
{
    struct lm_backend *reference = open_backend("reference", 1);
    struct lm_backend *cpu[3] = {open_backend("cpu", 1), open_backend("cpu", 2),
                                 open_backend("cpu", 3)};
    for (size_t i = 0; i < lm_op_case_count; i++) {
        struct lm_op_case wanted, got;
        lm_op_case_init(&wanted, i);
        lm_op_case_init(&got, i);
        run(&wanted, reference);
        for (size_t set = 0; lm_loops_at(set); set++)
            for (size_t c = 0; c < 3; c++) {
                lm_cpu_of(cpu[c])->loops = lm_loops_at(set);
                run(&got, cpu[c]);
                compare(&wanted, &got, lm_loops_at(set)->name, wanted.bound);
            }
        lm_op_case_deinit(&wanted);
        lm_op_case_deinit(&got);
    }
    for (size_t c = 0; c < 3; c++)
        lm_backend_close(cpu[c]);
    lm_backend_close(reference);
}

TEST(same_bits)
{
    struct lm_backend *first = open_backend("cpu", 2), *second = open_backend("cpu", 2);
    for (size_t i = 0; i < lm_op_case_count; i++) {
        struct lm_op_case wanted, got;
        lm_op_case_init(&wanted, i);
        lm_op_case_init(&got, i);
        run(&wanted, first);
        for (int again = 0; again < 3; again++) {
            run(&got, again ? second : first);
            compare(&wanted, &got, "again", 0);
        }
        lm_op_case_deinit(&wanted);
        lm_op_case_deinit(&got);
    }
    lm_backend_close(first);
    lm_backend_close(second);
}

/* Every 509th float there is, and what is special. */
TEST(exp)
{
    enum { BATCH = 4096 };
    float x[BATCH], y[BATCH];
    for (size_t set = 0; lm_loops_at(set); set++)
        for (uint64_t bits = 0; bits <= UINT32_MAX;) {
            size_t count = 0;
            for (; count < BATCH && bits <= UINT32_MAX; bits += 509) {
                uint32_t pattern = (uint32_t)bits;
                memcpy(&x[count++], &pattern, sizeof pattern);
            }
            lm_loops_at(set)->exp(count, x, y);
            for (size_t i = 0; i < count; i++) {
                double wanted = exp((double)x[i]), got = (double)y[i];
                bool right = isnan(x[i])       ? isnan(y[i])
                             : wanted > 3.4e38 ? got >= 3.39e38
                                               : fabs(got - wanted) <= 2e-7 * wanted + 0x1p-149;
                if (!right)
                    fail_msg("%s: exp(%.9g) is %.9g, not %.9g", lm_loops_at(set)->name,
                             (double)x[i], got, wanted);
            }
        }
}

struct tally {
    size_t ran[40];
    size_t threads;
};

static void tally_task(const void *work, size_t task, size_t thread)
{
    struct tally *tally = *(struct tally *const *)work;
    assert_true(thread < tally->threads);
    tally->ran[task]++;
}

/* Each task once, whether the others look out or sleep. */
TEST(teams)
{
    struct lm_pool *pool = lm_pool_new(3);
    for (size_t run = 0; run < 3000; run++) {
        struct tally tally = {.threads = 3}, *work = &tally;
        size_t count = run % 40;
        if (run % 300 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
        lm_pool_run(pool, count, tally_task, &work);
        for (size_t i = 0; i < 40; i++)
            assert_int_equal(tally.ran[i], i < count);
    }
    lm_pool_free(pool);
}

TEST(cuts)
{
    for (size_t count = 0; count < 70; count += 3)
        for (size_t parts = 1; parts < 9; parts++) {
            size_t next = 0;
            for (size_t part = 0; part < parts; part++) {
                struct lm_pool_range range = lm_pool_cut(count, 16, parts, part);
                assert_int_equal(range.first, next);
                assert_true(range.count == 0 || range.first % 16 == 0);
                next = range.first + range.count;
            }
            assert_int_equal(next, count);
        }
}
