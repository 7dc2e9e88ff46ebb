/* test: what the unit tests are written in.
 *
 *   TEST(round_trip)
 *   {
 *       assert_int_equal(parse("1"), 1);
 *   }
 *
 * defines and registers test_round_trip. The program runs its tests through cmocka in the order of
 * the file: main is in test.c, unless the file has its own. `state` is cmocka's parameter: what a
 * setup leaves in *state is *state in the tests and in the teardown.
 *
 * Ownership: a teardown frees what its setup made. Threads: assertions are for the thread that runs
 * the test. Errors: a failed assertion ends the test, a fixture that returns other than 0 fails its
 * tests.
 */
#pragma once

#include "base/array.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A test; one with fixtures of its own; one that registers nowhere, for a table that several
 * programs run. */
#define TEST(name)                                                                                 \
    static void test_##name(void **state);                                                         \
    TEST_REGISTER(TEST_PLAIN, test_##name, test_##name, NULL, NULL)                                \
    TEST_FUNCTION(name)
#define TEST_WITH(name, setup, teardown)                                                           \
    static void test_##name(void **state);                                                         \
    TEST_REGISTER(TEST_FIXED, test_##name, test_##name, setup, teardown)                           \
    TEST_FUNCTION(name)
#define TEST_FUNCTION(name) static void test_##name(void **state __attribute__((unused)))

/* A setup or a teardown. */
#define FIXTURE(name) static int name(void **state __attribute__((unused)))

/* Around each TEST that follows; once around all tests that follow. Either fixture may be NULL.
 * Both hold until another of their kind. */
#define TEST_EACH(setup, teardown)                                                                 \
    TEST_REGISTER(TEST_FIXTURES, each_##setup##_##teardown, NULL, setup, teardown)                 \
    _Static_assert(1, "")
#define TEST_GROUP(setup, teardown)                                                                \
    TEST_REGISTER(TEST_BEGIN, group_##setup##_##teardown, NULL, setup, teardown)                   \
    _Static_assert(1, "")

/* Ends the test with the text of the struct err if a call failed. */
#define assert_ok(result, err)                                                                     \
    ((result) == 0 ? (void)0 : support_fail((err)->text, __FILE__, __LINE__))
_Noreturn void support_fail(const char *text, const char *file, int line);

/* A text that lives as long as the program: no test frees it; and the same of one that the caller
 * owns (mem_free), which may be NULL. */
char *support_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *support_keep(char *taken);
/* The JSON of a text, which is whole; the caller's (json_decref). */
struct json_t *support_json(const char *text);
/* Writes a file, and makes the directories above it that are missing. */
void support_write(const char *directory, const char *name, const char *text);
void support_pause(int64_t ms);
/* A fresh directory below TMPDIR; it goes, with all that is in it, when the program ends. */
char *support_directory(void);
/* A thread that stores 1 after that time; the caller joins it. */
pthread_t support_set_after(_Atomic int *flag, int64_t ms);

/* For a file with its own main: runs the registered tests, each time it is called, and returns how
 * many failed. */
int tests_run(void);

/* What the macros above are made of. */
enum test_kind { TEST_PLAIN, TEST_FIXED, TEST_FIXTURES, TEST_BEGIN };

struct test_entry {
    enum test_kind kind;
    int line;
    struct CMUnitTest test;
    struct test_entry *next;
};

void test_register(struct test_entry *entry);

#define TEST_REGISTER(kind, id, function, setup, teardown)                                         \
    __attribute__((constructor)) static void register_##id(void)                                   \
    {                                                                                              \
        static struct test_entry entry = {kind,                                                    \
                                          __LINE__,                                                \
                                          {#id, function, setup, teardown, NULL},                  \
                                          NULL};                                                   \
        test_register(&entry);                                                                     \
    }
