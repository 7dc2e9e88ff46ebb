/* Arenas whose data moves to another one. */
#include "base/mem.h"

#include "../support/test.h"

/* What either held stays, and what is allocated afterwards lies beside it. */
TEST(take)
{
    static const size_t rows[][2] = {{0, 0}, {3, 0}, {0, 3}, {3, 3}, {100000, 3}, {3, 100000}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena arenas[2] = {0};
        char *texts[3] = {0};
        for (size_t k = 0; k < 2; k++) {
            texts[k] = rows[i][k] ? arena_alloc(&arenas[k], rows[i][k] + 1) : NULL;
            if (texts[k])
                memset(texts[k], 'a' + (int)k, rows[i][k]);
        }
        arena_take(&arenas[0], &arenas[1]);
        assert_null(arenas[1].blocks);
        assert_int_equal(arenas[1].used, 0);
        texts[2] = arena_alloc(&arenas[0], 100);
        memset(texts[2], 'z', 100);
        for (size_t k = 0; k < 2; k++)
            for (size_t at = 0; texts[k] && at < rows[i][k]; at++)
                assert_int_equal(texts[k][at], 'a' + (int)k);
        arena_deinit(&arenas[1]);
        arena_deinit(&arenas[0]);
    }
}
