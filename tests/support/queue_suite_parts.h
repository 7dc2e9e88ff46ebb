/* queue_suite_parts: what the files of the suite share: the store under test, and short forms of
 * the calls, which fail the running test where something goes wrong. */
#pragma once

#include "queue_suite.h"

#include "test.h"

#define WAIT_MOST_MS 30000 /* no slow machine reaches it */

struct suite {
    const struct queue_place *place;
    const char *url;
    struct queue *queue; /* a fresh one for each test */
    struct err err;
};

extern struct suite suite;

#define suite_ok(call)                                                                             \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            fail_msg("%s: %s", #call, suite.err.text);                                             \
    } while (0)

int suite_set_up(void **state);
int suite_tear_down(void **state);

/* A test of the suite, with a fresh store. */
#define SUITE_TEST(name)                                                                           \
    static void test_##name(void **state);                                                         \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        static struct suite_test entry = {{"test_" #name, test_##name, suite_set_up,               \
                                           suite_tear_down, NULL},                                 \
                                          NULL};                                                   \
        suite_register(&entry);                                                                    \
    }                                                                                              \
    TEST_FUNCTION(name)

struct suite_test {
    struct CMUnitTest test;
    struct suite_test *next;
};

void suite_register(struct suite_test *test);

/* Another queue on the same store, with other options. */
void suite_reopen(const struct queue_options *options);
enum queue_put_result suite_put_full(const char *id, const char *batch, const char *needs,
                                     enum queue_priority priority, const char *payload, bool force);
/* For a CPU, normal, its payload is its id. */
enum queue_put_result suite_put(const char *id);
/* `needs`: a word, or "both" for cpu and gpu. The bytes are the caller's. */
bool suite_claim_with(struct queue *from, const char *worker, const char *needs, int timeout_ms,
                      struct queue_job *job);
/* Claims what must be there; the bytes are dropped. */
struct queue_job suite_claim(const char *expected);
void suite_assert_nothing_to_claim(void);
enum queue_finish_result suite_finish(const struct queue_job *job, const char *outcome,
                                      const char *bytes);
enum queue_lease_state suite_renew(const struct queue_job *job);
struct queue_job suite_get(const char *id);
/* Until it is through. */
struct queue_reaping suite_reap(void);
enum queue_state suite_cancel(const char *id);
