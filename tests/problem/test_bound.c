#include "problem/bound.h"

#include "../support/test.h"
#include "problem/dtype.h"
#include "problem/problem.h"

static const struct {
    const char *text;
    bool refused;
    double relative, absolute; /* of an output of float32 whose own tolerance is 3e-5 */
    double half_relative;      /* of float16 */
} rows[] = {
    {"strict", false, 3e-5, 0, 3e-5},
    {"kernelbench", false, 1e-4, 1e-4, 1e-2},
    {"kernelgym", false, 1e-2, 1e-2, 1e-2},
    {"{rtol: 1e-3, atol: 2e-4}", false, 1e-3, 2e-4, 1e-3},
    {"{\"atol\":0.0002,\"rtol\":0.001}", false, 1e-3, 2e-4, 1e-3},
    {"{'rtol': 1e-3}", false, 1e-3, 0, 1e-3},
    {"{atol=0}", false, 0, 0, 0},
    {.text = "", .refused = true},
    {.text = "loose", .refused = true},
    {.text = "1e-3", .refused = true},
    {.text = "{}", .refused = true},
    {.text = "{rtol: -1}", .refused = true},
    {.text = "{rtol: nan}", .refused = true},
    {.text = "{rtol: 1e-3, rtol: 1e-3}", .refused = true},
    {.text = "{rtol: 1e-3", .refused = true},
    {.text = "{rtol: 1e-3} x", .refused = true},
    {.text = "{rtol 1e-3}", .refused = true},
    {.text = "{ttol: 1e-3}", .refused = true},
};

TEST(table)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer_bound bound;
        struct err err;
        struct tolerance full = {.relative = 3e-5, .scale = SCALE_RMS};
        struct tolerance half = full;
        int result = bound_parse(rows[i].text, &bound, &err);
        if ((result < 0) != rows[i].refused)
            fail_msg("%s: %d", rows[i].text, result);
        if (result < 0)
            continue;
        bound_apply(&bound, DTYPE_F32, &full);
        bound_apply(&bound, DTYPE_F16, &half);
        assert_true(full.relative == rows[i].relative && full.absolute == rows[i].absolute);
        assert_true(half.relative == rows[i].half_relative);
        assert_int_equal(full.scale, bound.kind == BOUND_STRICT ? SCALE_RMS : SCALE_NONE);
    }
}

TEST(exact_stays_exact)
{
    struct tolerance tolerance = {.exact = true};
    bound_apply(&(struct answer_bound){.kind = BOUND_KERNELGYM}, DTYPE_I32, &tolerance);
    assert_true(tolerance.exact && tolerance.absolute == 0);
}
