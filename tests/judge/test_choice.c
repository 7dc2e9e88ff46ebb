#include "judge/numeric/choice.h"

#include "../support/test.h"

#include <math.h>

static const struct {
    const char *what;
    uint64_t outer, length, taken, inner;
    bool distinct;
    double slack;
    float values[8];
    int64_t expected[4], got[4];
    bool agrees;
} rows[] = {
    {"the same", 1, 4, 1, 1, false, 0, {1, 3, 2, 0}, {1}, {1}, true},
    {"a tie", 1, 4, 1, 1, false, 0, {1, 3, 3, 0}, {1}, {2}, true},
    {"no tie", 1, 4, 1, 1, false, 0, {1, 3, 2, 0}, {1}, {2}, false},
    {"nearly a tie, of inputs", 1, 2, 1, 1, false, 0, {1, 1.0000001F}, {1}, {0}, false},
    {"nearly a tie, computed", 1, 2, 1, 1, false, 1e-6, {1, 1.0000001F}, {1}, {0}, true},
    {"beyond the end", 1, 4, 1, 1, false, 0, {3, 3, 3, 3}, {0}, {4}, false},
    {"before the beginning", 1, 4, 1, 1, false, 0, {3, 3, 3, 3}, {0}, {-1}, false},
    {"two NaNs", 1, 2, 1, 1, false, 0, {NAN, NAN}, {0}, {1}, true},
    {"two infinities", 1, 2, 1, 1, false, 0, {INFINITY, INFINITY}, {0}, {1}, true},
    {"opposite infinities", 1, 2, 1, 1, false, 1, {INFINITY, -INFINITY}, {0}, {1}, false},
    {"a sort with a tie", 1, 3, 3, 1, true, 0, {2, 1, 2}, {1, 0, 2}, {1, 2, 0}, true},
    {"one position twice", 1, 3, 3, 1, true, 0, {2, 1, 2}, {1, 0, 2}, {1, 2, 2}, false},
    {"twice, where it may be", 1, 2, 2, 1, false, 0, {2, 2}, {0, 1}, {1, 1}, true},
    {"the same position in two rows",
     2,
     2,
     2,
     1,
     true,
     0,
     {1, 1, 1, 1},
     {0, 1, 0, 1},
     {1, 0, 1, 0},
     true},
    {"wrong in the second row", 2, 2, 1, 1, false, 0, {1, 1, 1, 2}, {0, 1}, {1, 0}, false},
    {"columns", 1, 2, 1, 3, false, 0, {5, 1, 2, 5, 0, 9}, {0, 0, 1}, {1, 0, 1}, true},
    {"a wrong column", 1, 2, 1, 3, false, 0, {5, 1, 2, 5, 0, 9}, {0, 0, 1}, {1, 1, 1}, false},
};

TEST(table)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct choice choice = {.outer = rows[i].outer,
                                      .length = rows[i].length,
                                      .taken = rows[i].taken,
                                      .inner = rows[i].inner,
                                      .distinct = rows[i].distinct,
                                      .slack = rows[i].slack,
                                      .value_dtype = DTYPE_F32,
                                      .position_dtype = DTYPE_I64};
        if (choice_agrees(&choice, rows[i].values, rows[i].expected, rows[i].got) != rows[i].agrees)
            fail_msg("%s", rows[i].what);
    }
}
