/* Large memory that a process keeps: what a request costs follows from the requests alone. */
#include "judge/child/blocks.h"

#include "../support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define PAGE 4096

FIXTURE(forget)
{
    (void)state;
    blocks_give_back();
    return 0;
}

static char *take(size_t bytes)
{
    char *memory = block_take(bytes);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % BLOCK_ALIGNMENT, 0);
    memory[0] = memory[bytes - 1] = 1;
    return memory;
}

/* The first and the last byte of a block that is new are zero. */
static bool is_new(const char *memory, size_t bytes)
{
    return memory[0] == 0 && memory[bytes / 2] == 0 && memory[bytes - 1] == 0;
}

static void test_equal_size(void **state)
{
    (void)state;
    char *first = take(3 * MIB + 5);
    memset(first, 7, 3 * MIB + 5);
    assert_true(block_free(first, 0));
    assert_int_equal(blocks_kept(), 3 * MIB + 5);
    char *other = take(3 * MIB + 4);
    assert_ptr_not_equal(other, first);
    assert_ptr_equal(block_take(3 * MIB + 5), first);
    for (size_t i = 0; i < 3 * MIB + 5; i++)
        assert_int_equal(first[i], 7);
    assert_int_equal(blocks_kept(), 0);
    assert_true(block_free(other, 0) && block_free(first, 0));
    blocks_give_back();
    assert_int_equal(blocks_kept(), 0);
    first = block_take(3 * MIB + 5);
    assert_true(is_new(first, 3 * MIB + 5));
    assert_true(block_free(first, 0));
}

/* What was freed last is most likely in caches. */
static void test_newest_first(void **state)
{
    (void)state;
    char *a = take(2 * MIB), *b = take(2 * MIB), *c = take(2 * MIB);
    assert_true(block_free(b, 0) && block_free(c, 0) && block_free(a, 0));
    assert_ptr_equal(take(2 * MIB), a);
    assert_ptr_equal(take(2 * MIB), c);
    assert_ptr_equal(take(2 * MIB), b);
    assert_true(block_free(b, 0) && block_free(c, 0) && block_free(a, 0));
}

static void test_poison(void **state)
{
    (void)state;
    const size_t bytes = 2 * MIB + 3;
    unsigned char *block = (unsigned char *)take(bytes);
    memset(block, 7, bytes);
    assert_true(block_free(block, MIB));
    assert_ptr_equal(block_take(bytes), block);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(block[i], i < MIB ? BLOCK_POISON : 7);
    assert_true(block_free(block, SIZE_MAX));
    assert_ptr_equal(block_take(bytes), block);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(block[i], BLOCK_POISON);
    assert_true(block_free(block, 0));
}

/* Blocks that are read together begin at different distances from a large page. */
static void test_distances(void **state)
{
    (void)state;
    enum { COUNT_OF = 32 };
    char *blocks[COUNT_OF];
    for (size_t i = 0; i < COUNT_OF; i++)
        blocks[i] = take(2 * MIB);
    for (size_t i = 0; i < COUNT_OF; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal((uintptr_t)blocks[i] % PAGE, (uintptr_t)blocks[k] % PAGE);
    for (size_t i = 0; i < COUNT_OF; i++)
        assert_true(block_free(blocks[i], 0));
}

static void test_bound(void **state)
{
    (void)state;
    enum { COUNT_OF = 9 };
    const size_t each = BLOCKS_KEPT_BYTES / 8;
    char *blocks[COUNT_OF];
    for (size_t i = 0; i < COUNT_OF; i++)
        blocks[i] = take(each);
    for (size_t i = 0; i < COUNT_OF; i++)
        assert_true(block_free(blocks[i], 0));
    assert_int_equal(blocks_kept(), BLOCKS_KEPT_BYTES); /* the first one went */
    for (size_t i = COUNT_OF; i-- > 1;)
        assert_ptr_equal(block_take(each), blocks[i]);
    blocks[0] = block_take(each);
    assert_true(is_new(blocks[0], each));
    for (size_t i = 1; i < COUNT_OF; i++)
        assert_true(block_free(blocks[i], 0));
    assert_true(block_free(blocks[0], 0));

    /* One that is never kept costs the others nothing. */
    char *large = take(BLOCKS_KEPT_BYTES + 1);
    assert_true(block_free(large, SIZE_MAX));
    assert_int_equal(blocks_kept(), BLOCKS_KEPT_BYTES);
    large = block_take(BLOCKS_KEPT_BYTES + 1);
    assert_true(is_new(large, BLOCKS_KEPT_BYTES + 1));
    assert_true(block_free(large, 0));
}

static void test_foreign(void **state)
{
    (void)state;
    char *other = aligned_alloc(BLOCK_ALIGNMENT, 4 * MIB);
    char *block = take(2 * MIB);
    assert_false(block_free(other, SIZE_MAX));
    assert_false(block_free(block + BLOCK_ALIGNMENT, SIZE_MAX));
    assert_false(block_free(NULL, SIZE_MAX));
    assert_int_equal(block[0], 1);
    assert_true(block_free(block, 0));
    assert_false(block_free(block, 0)); /* twice */
    errno = 0;
    assert_null(block_take(SIZE_MAX));
    assert_null(block_take((size_t)1 << 60));
    assert_int_equal(errno, ENOMEM);
    free(other);
}

/* A network: its answer lives until there is a new one. */
static int call_once(char **answer)
{
    static const size_t layers[] = {85 * MIB, 11 * MIB, 40 * MIB, 11 * MIB, 85 * MIB};
    int cleared = 0;
    char *before = NULL;
    for (size_t i = 0; i < COUNT(layers); i++) {
        char *after = block_take(layers[i]);
        cleared += after[0] == 0;
        after[0] = 1;
        if (before)
            assert_true(block_free(before, 0));
        before = after;
    }
    if (*answer)
        assert_true(block_free(*answer, 0));
    *answer = before;
    return cleared;
}

/* What the process had before: nothing, much that it freed, much of which it still has half. */
static void test_history(void **state)
{
    (void)state;
    enum { BEFORE = 40 };
    char *held[BEFORE] = {0};
    char *answer = NULL;
    for (int history = 0; history < 3; history++) {
        for (size_t i = 0; history > 0 && i < BEFORE; i++)
            held[i] = take((2 + 2 * i) * MIB);
        for (size_t i = 0; i < BEFORE; i++)
            if (held[i] && (history == 1 || i % 2 == 0)) {
                assert_true(block_free(held[i], 0));
                held[i] = NULL;
            }
        (void)call_once(&answer);
        (void)call_once(&answer);
        for (int i = 0; i < 5; i++)
            assert_int_equal(call_once(&answer), 0);
        for (size_t i = 0; i < BEFORE; i++)
            if (held[i]) {
                assert_true(block_free(held[i], 0));
                held[i] = NULL;
            }
        assert_true(block_free(answer, 0));
        answer = NULL;
        blocks_give_back();
    }
}

static void *churn(void *seed)
{
    unsigned state = (unsigned)(uintptr_t)seed;
    char mine = (char)(uintptr_t)seed;
    char *held[8] = {0};
    size_t bytes[8];
    intptr_t wrong = 0;
    for (int i = 0; i < 4000; i++) {
        state = state * 1103515245 + 12345;
        size_t at = state >> 16 & 7;
        if (held[at]) {
            wrong += held[at][0] != mine || held[at][bytes[at] - 1] != mine;
            wrong += !block_free(held[at], state >> 24);
            held[at] = NULL;
        } else {
            bytes[at] = ((state >> 20 & 3) + 2) * MIB;
            held[at] = block_take(bytes[at]);
            held[at][0] = held[at][bytes[at] - 1] = mine;
        }
    }
    for (size_t at = 0; at < COUNT(held); at++)
        wrong += held[at] && !block_free(held[at], 0);
    return (void *)wrong;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    void *wrong;
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
    for (size_t i = 0; i < COUNT(threads); i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_equal_size, forget),
        cmocka_unit_test_setup(test_newest_first, forget),
        cmocka_unit_test_setup(test_poison, forget),
        cmocka_unit_test_setup(test_distances, forget),
        cmocka_unit_test_setup(test_bound, forget),
        cmocka_unit_test_setup(test_foreign, forget),
        cmocka_unit_test_setup(test_history, forget),
        cmocka_unit_test_setup(test_threads, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
