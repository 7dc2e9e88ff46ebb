/* Whether answers fit into this machine's memory. */
#include "judge/process/memory_budget.h"

#include "../support/test.h"
#include "device/machine_load.h"

#include <string.h>

#define GIB ((uint64_t)1 << 30)

TEST(answers_that_fit)
{
    struct err err;
    uint64_t available = load_available_bytes();
    assert_int_equal(memory_budget_check_answers("p", 0, available * 4, 0, &err), 0);
    assert_int_equal(memory_budget_check_answers("p", 4096, 4096, 0, &err), 0);
    /* What a candidate has already it need not find again. */
    assert_int_equal(memory_budget_check_answers("p", 4096, available * 2, available * 3, &err), 0);
}

TEST(answers_that_do_not_fit)
{
    struct err err;
    uint64_t copies = load_available_bytes() * 2 + GIB;
    assert_int_equal(memory_budget_check_answers("softmax", copies, GIB / 2, 0, &err),
                     ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "the answers of problem softmax need "));
    assert_non_null(strstr(err.text, "fewer --jobs"));
}
