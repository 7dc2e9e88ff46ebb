/* Pages: references, prefixes that are found again, which pages are given away first; and many
 * random operations against a plain list of what each page should hold. */
#include "../support/test.h"
#include "base/random.h"
#include "lm/sample/pages.h"

#define SIZE 2

static void check(const struct pages *pages)
{
    struct err err = {0};
    assert_ok(pages_check(pages, &err), &err);
}

TEST(take_all)
{
    struct pages *pages = pages_new(3, SIZE);
    bool seen[3] = {false};
    for (int i = 0; i < 3; i++) {
        int32_t page = pages_take(pages);
        assert_in_range(page, 0, 2);
        assert_false(seen[page]);
        seen[page] = true;
    }
    assert_int_equal(pages_take(pages), PAGES_NONE);
    assert_int_equal(pages_available(pages), 0);
    pages_share(pages, 1);
    assert_true(pages_is_shared(pages, 1));
    pages_release(pages, 1);
    assert_false(pages_is_shared(pages, 1));
    assert_int_equal(pages_take(pages), PAGES_NONE);
    pages_release(pages, 1);
    assert_int_equal(pages_take(pages), 1);
    check(pages);
    pages_free(pages);
    pages_free(NULL);
}

/* The same tokens behind other tokens are another page. */
TEST(prefixes)
{
    static const int32_t a[] = {1, 2}, b[] = {3, 4};
    struct pages *pages = pages_new(4, SIZE);
    uint64_t mark = 0, of_ab;
    int32_t first = pages_take(pages), second = pages_take(pages), third = pages_take(pages);
    uint64_t of_a = pages_keep(pages, PAGES_START, first, a);
    of_ab = pages_keep(pages, of_a, second, b);
    assert_true(of_a != PAGES_START && of_ab != PAGES_START && of_a != of_ab);
    assert_int_equal(pages_find(pages, PAGES_START, b, &mark), PAGES_NONE);
    assert_int_equal(pages_find(pages, of_ab, b, &mark), PAGES_NONE);
    assert_int_equal(pages_find(pages, of_a, b, &mark), second);
    assert_int_equal(mark, of_ab);
    assert_true(pages_is_shared(pages, second));
    /* Somebody computed the same: its own page is not found, but what follows continues the first.
     */
    assert_int_equal(pages_keep(pages, PAGES_START, third, a), of_a);
    pages_release(pages, third);
    assert_int_equal(pages_available(pages), 2);
    check(pages);
    pages_forget(pages);
    assert_int_equal(pages_find(pages, PAGES_START, a, &mark), PAGES_NONE);
    check(pages);
    pages_release(pages, first);
    pages_release(pages, second);
    pages_release(pages, second);
    assert_int_equal(pages_available(pages), 4);
    check(pages);
    pages_free(pages);
}

/* Free pages go first, then the prompt that was used the longest ago. */
TEST(eviction)
{
    static const int32_t tokens[3][SIZE] = {{1, 1}, {2, 2}, {3, 3}};
    struct pages *pages = pages_new(4, SIZE);
    int32_t page[3];
    uint64_t mark;
    for (int i = 0; i < 3; i++) {
        page[i] = pages_take(pages);
        pages_keep(pages, PAGES_START, page[i], tokens[i]);
    }
    for (int i = 0; i < 3; i++)
        pages_release(pages, page[i]);
    assert_int_equal(pages_find(pages, PAGES_START, tokens[0], &mark), page[0]);
    pages_release(pages, page[0]);
    int32_t free = pages_take(pages);
    assert_true(free != page[0] && free != page[1] && free != page[2]);
    assert_int_equal(pages_take(pages), page[1]);
    assert_int_equal(pages_find(pages, PAGES_START, tokens[1], &mark), PAGES_NONE);
    assert_int_equal(pages_take(pages), page[2]);
    assert_int_equal(pages_find(pages, PAGES_START, tokens[0], &mark), page[0]);
    assert_int_equal(pages_take(pages), PAGES_NONE);
    check(pages);
    pages_free(pages);
}

#define PAGES 7
#define ROUNDS 20000

TEST(random)
{
    struct pages *pages = pages_new(PAGES, SIZE);
    size_t held[PAGES] = {0}, found = 0, refused = 0;
    uint64_t random = 1, marks[4] = {PAGES_START}, newest = 0;
    bool kept[PAGES] = {false};
    for (size_t round = 0; round < ROUNDS; round++) {
        const int32_t tokens[SIZE] = {(int32_t)(random_next(&random) % 3), 0};
        int32_t page = (int32_t)(random_next(&random) % PAGES);
        uint64_t before = marks[random_next(&random) % 4], mark = 0;
        switch (random_next(&random) % 8) {
        case 0:
        case 1:
            page = pages_take(pages);
            refused += page == PAGES_NONE;
            if (page != PAGES_NONE) {
                assert_int_equal(held[page]++, 0);
                kept[page] = false;
            }
            break;
        case 2:
            page = pages_find(pages, before, tokens, &mark);
            if (page != PAGES_NONE) {
                found++;
                held[page]++;
                assert_true(mark != PAGES_START);
                marks[1 + random_next(&random) % 3] = mark;
            }
            break;
        case 3:
            if (held[page] > 0 && !kept[page]) {
                mark = pages_keep(pages, before, page, tokens);
                kept[page] = mark > newest; /* else there was one */
                newest = kept[page] ? mark : newest;
                marks[1 + random_next(&random) % 3] = mark;
            }
            break;
        case 4:
            if (round % 100 == 0) {
                pages_forget(pages);
                memset(kept, 0, sizeof kept);
            }
            break;
        default:
            if (held[page] > 0) {
                held[page]--;
                pages_release(pages, page);
            }
        }
        size_t referenced = 0;
        for (size_t i = 0; i < PAGES; i++) {
            referenced += held[i] > 0;
            assert_int_equal(pages_is_shared(pages, (int32_t)i), held[i] > 1);
        }
        assert_int_equal(pages_available(pages), PAGES - referenced);
        check(pages);
    }
    assert_true(found > 100 && refused > 100);
    pages_free(pages);
}
