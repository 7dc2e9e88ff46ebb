#include "judge/batch.h"

#include "../support/judging.h"
#include "../support/setting.h"
#include "../support/test.h"
#include "judge/request/judge_settings.h"

#include <pthread.h>
#include <stdatomic.h>

#define REFERENCE_DESCRIPTORS 10 /* of both problems: slot, oracle, channel, process, output */
#define TASKS 12
#define HEAD JUDGING_HEAD
#define YAML JUDGING_YAML("[{n: 100}]", "[{n: 4}]")
#define LOOP(value) "    for (size_t i = 0; i < n; i++)\n        y[i] = " value ";\n"

static struct problem problems[2]; /* twice, negative */

/* What the reports say; they come from any thread, but one at a time. */
struct seen {
    size_t count, ticks;
    size_t numbers[TASKS];
    enum verdict_status statuses[TASKS];
    atomic_int inside;
    bool together;    /* two reports at once */
    size_t cancel_at; /* after so many reports; 0: never */
};

FIXTURE(open_all)
{
    static const char *const words[] = {"run.timeout_ms=1m", NULL};
    judging_begin(words);
    judging_problem(&problems[0], judging.place, "twice", YAML, HEAD LOOP("2 * x[i]") "}\n");
    judging_problem(&problems[1], judging.place, "negative", YAML, HEAD LOOP("-x[i]") "}\n");
    return 0;
}

FIXTURE(close_all)
{
    problem_deinit(&problems[0]);
    problem_deinit(&problems[1]);
    return judging_end(state);
}

TEST_GROUP(open_all, close_all);

static void report(void *context, const struct batch_task *task, const struct verdict *verdict)
{
    struct seen *seen = context;
    if (atomic_fetch_add(&seen->inside, 1) > 0)
        seen->together = true;
    if (seen->count < TASKS) {
        seen->numbers[seen->count] = task->number;
        seen->statuses[seen->count] = verdict->status;
    }
    seen->count++;
    if (seen->count == seen->cancel_at)
        judging.cancelled = 1;
    atomic_fetch_sub(&seen->inside, 1);
}

static void tick(void *context)
{
    struct seen *seen = context;
    seen->ticks++;
}

/* Right for the one problem and wrong for the other, in blocks of three. */
static void make_tasks(struct batch_task tasks[TASKS])
{
    static const char *const texts[] = {HEAD LOOP("x[i] + x[i]") "}\n", HEAD LOOP("0 - x[i]") "}\n",
                                        HEAD "    y[0] = }\n"};
    for (size_t i = 0; i < TASKS; i++)
        tasks[i] = (struct batch_task){.problem = &problems[i / 3 % 2],
                                       .candidate = judging_candidate("candidate.c", texts[i % 3]),
                                       .number = 100 + i};
}

static enum verdict_status expected(size_t number)
{
    size_t i = number - 100;
    if (i % 3 == 2)
        return STATUS_COMPILE_ERROR;
    return i / 3 % 2 == i % 3 ? STATUS_PASSED : STATUS_WRONG;
}

static void check(const struct seen *seen)
{
    bool there[TASKS] = {0};
    assert_int_equal(seen->count, TASKS);
    assert_false(seen->together);
    for (size_t i = 0; i < TASKS; i++) {
        size_t number = seen->numbers[i] - 100;
        assert_true(number < TASKS && !there[number]);
        there[number] = true;
        if (seen->statuses[i] != expected(seen->numbers[i]))
            fail_msg("task %d: %s", (int)number, verdict_status_name(seen->statuses[i]));
    }
}

TEST(jobs)
{
    struct batch_task tasks[TASKS];
    struct err err = {0};
    int before = 0;
    make_tasks(tasks);
    for (int jobs = 1; jobs <= 3; jobs++) {
        struct seen seen = {0};
        assert_ok(batch_run(judging.judge, tasks, TASKS, jobs, &judging.cancelled, report, tick,
                            &seen, &err),
                  &err);
        check(&seen);
        for (size_t i = 0; jobs == 1 && i < TASKS; i++)
            assert_int_equal(seen.numbers[i], 100 + i); /* one after the other is in order */
        if (jobs == 1)
            before = judging_descriptors();
        /* each job may leave a reference of both in the cache */
        assert_in_range(judging_descriptors(), before, before + (jobs - 1) * REFERENCE_DESCRIPTORS);
    }
}

TEST(more_jobs_than_tasks)
{
    struct batch_task tasks[TASKS];
    struct seen seen = {0};
    make_tasks(tasks);
    assert_int_equal(batch_run(judging.judge, tasks, 2, 16, NULL, report, NULL, &seen, NULL), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.ticks, 0);
}

TEST(nothing_to_do)
{
    struct seen seen = {0};
    assert_int_equal(batch_run(judging.judge, NULL, 0, 2, NULL, report, tick, &seen, NULL), 0);
    assert_int_equal(seen.count, 0);
}

/* One that never ends: the ticks go on, and cancelling ends it without a report. */
TEST(cancel_running)
{
    struct batch_task tasks[2] = {{.problem = &problems[0],
                                   .candidate = judging_candidate("a.c", HEAD "for (;;);}\n")},
                                  {.problem = &problems[0],
                                   .candidate = judging_candidate("b.c", HEAD "for (;;);}\n")}};
    struct seen seen = {0};
    pthread_t thread = support_set_after(&judging.cancelled, 400);
    assert_int_equal(batch_run(judging.judge, tasks, 2, 2, &judging.cancelled, report, tick, &seen,
                               NULL),
                     ERR_CANCELLED);
    pthread_join(thread, NULL);
    judging.cancelled = 0;
    assert_int_equal(seen.count, 0);
    assert_true(seen.ticks > 0);
}

/* Cancelled between two: what is reported stands, what is not is said so. */
TEST(cancel_between)
{
    for (int jobs = 1; jobs <= 2; jobs++) {
        struct batch_task tasks[TASKS];
        struct seen seen = {.cancel_at = 4};
        make_tasks(tasks);
        assert_int_equal(batch_run(judging.judge, tasks, TASKS, jobs, &judging.cancelled, report,
                                   NULL, &seen, NULL),
                         ERR_CANCELLED);
        judging.cancelled = 0;
        assert_in_range(seen.count, 4, 3 + jobs);
        for (size_t i = 0; i < seen.count; i++)
            assert_int_equal(seen.statuses[i], expected(seen.numbers[i]));
    }
}

TEST(cancelled_before)
{
    struct batch_task tasks[TASKS];
    struct seen seen = {0};
    make_tasks(tasks);
    judging.cancelled = 1;
    assert_int_equal(batch_run(judging.judge, tasks, TASKS, 2, &judging.cancelled, report, NULL,
                               &seen, NULL),
                     ERR_CANCELLED);
    judging.cancelled = 0;
    assert_int_equal(seen.count, 0);
}
