#include "judge/numeric/oracle.h"

#include "../support/test.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>

/* One argument of each type, in roles that go round, between arrays of odd lengths. */
static void make_layout(struct layout *layout, uint32_t role)
{
    uint64_t offset = 0;
    *layout = (struct layout){.count = DTYPE_COUNT};
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        uint64_t count = role == ROLE_SCALAR ? 1 : 3 + 7 * i;
        layout->arguments[i] = (struct layout_argument){
            .role = role, .dtype = i, .offset = offset, .count = count, .fill = FILL_NONE};
        uint64_t bytes = layout_argument_bytes(&layout->arguments[i]);
        offset += ((bytes < 8 ? 8 : bytes) + LAYOUT_GUARD_BYTES + 63) / 64 * 64;
    }
    layout->bytes = (offset + 4095) / 4096 * 4096;
}

/* What layout.h promises holds for the wide one, too. */
TEST(layout)
{
    static const uint32_t roles[] = {ROLE_IN, ROLE_OUT, ROLE_INOUT, ROLE_SCALAR};
    for (size_t r = 0; r < COUNT(roles); r++) {
        struct layout plain;
        struct layout wide;
        uint64_t end = 0;
        make_layout(&plain, roles[r]);
        oracle_layout(&plain, &wide);
        assert_int_equal(wide.count, plain.count);
        for (uint32_t i = 0; i < wide.count; i++) {
            const struct layout_argument *from = &plain.arguments[i];
            const struct layout_argument *to = &wide.arguments[i];
            bool floating = dtype_facts(from->dtype)->floating;
            assert_int_equal(to->dtype, floating ? DTYPE_F64 : from->dtype);
            assert_int_equal(to->role, from->role);
            assert_int_equal(to->count, from->count);
            assert_int_equal(to->offset % 64, 0);
            assert_true(to->offset >= end);
            uint64_t bytes = layout_argument_bytes(to);
            end = to->offset + (bytes < 8 ? 8 : bytes) + LAYOUT_GUARD_BYTES;
        }
        assert_int_equal(wide.bytes % 4096, 0);
        assert_true(wide.bytes >= end);
    }
}

TEST(no_arguments)
{
    struct layout plain = {0};
    struct layout wide;
    oracle_layout(&plain, &wide);
    assert_int_equal(wide.count, 0);
    assert_int_equal(wide.bytes, 0);
    oracle_widen(&plain, NULL, &wide, NULL);
}

/* Values that each type holds exactly; floating ones with their edges. */
static double value_of(uint32_t dtype, uint64_t index)
{
    static const double edges[] = {0, -0.0, 1, -1.5, 0.25, INFINITY, -INFINITY, NAN, 448, -1024};
    const struct dtype_facts *facts = dtype_facts(dtype);
    if (facts->floating)
        return edges[index % 10];
    return dtype == DTYPE_BOOL ? (double)(index % 2) : (double)(index % 100);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) != 0 : a == b && signbit(a) == signbit(b);
}

TEST(widen)
{
    static const uint32_t roles[] = {ROLE_IN, ROLE_INOUT, ROLE_SCALAR, ROLE_OUT};
    for (size_t r = 0; r < COUNT(roles); r++) {
        struct layout plain;
        struct layout wide;
        make_layout(&plain, roles[r]);
        oracle_layout(&plain, &wide);
        char *slot = mem_alloc(plain.bytes);
        char *wide_slot = mem_alloc(wide.bytes);
        memset(wide_slot, 0x5A, wide.bytes);
        for (uint32_t i = 0; i < plain.count; i++)
            for (uint64_t at = 0; at < plain.arguments[i].count; at++)
                dtype_store(i, slot + plain.arguments[i].offset, at, value_of(i, at));
        oracle_widen(&plain, slot, &wide, wide_slot);
        for (uint32_t i = 0; i < wide.count; i++) {
            const struct layout_argument *to = &wide.arguments[i];
            const unsigned char *bytes = (unsigned char *)wide_slot + to->offset;
            if (roles[r] == ROLE_OUT) /* it is not written yet */
                assert_int_equal(bytes[0], 0x5A);
            for (uint64_t at = 0; roles[r] != ROLE_OUT && at < to->count; at++)
                if (!same(dtype_load(to->dtype, bytes, at), value_of(i, at)))
                    fail_msg("%s[%d] is %g instead of %g", dtype_facts(i)->name, (int)at,
                             dtype_load(to->dtype, bytes, at), value_of(i, at));
            assert_int_equal(bytes[layout_argument_bytes(to)], 0x5A); /* and not a byte more */
        }
        mem_free(slot);
        mem_free(wide_slot);
    }
}

/* Sizes and wide integers go over bit by bit: a double could not hold them. */
TEST(integers)
{
    struct layout plain = {
        .count = 3,
        .bytes = 4096,
        .arguments = {{.role = ROLE_SIZE, .dtype = DTYPE_U64, .count = 1},
                      {.role = ROLE_SCALAR, .dtype = DTYPE_I64, .offset = 320, .count = 1},
                      {.role = ROLE_IN, .dtype = DTYPE_U64, .offset = 640, .count = 2}}};
    struct layout wide;
    uint64_t slot[512] = {0};
    uint64_t wide_slot[512] = {0};
    slot[0] = UINT64_MAX;
    slot[40] = (UINT64_C(1) << 63) + 1;
    slot[80] = (UINT64_C(1) << 53) + 1;
    slot[81] = 3;
    oracle_layout(&plain, &wide);
    assert_true(wide.bytes <= sizeof wide_slot);
    oracle_widen(&plain, slot, &wide, wide_slot);
    assert_true(wide_slot[wide.arguments[0].offset / 8] == slot[0]);
    assert_true(wide_slot[wide.arguments[1].offset / 8] == slot[40]);
    assert_true(wide_slot[wide.arguments[2].offset / 8] == slot[80]);
    assert_true(wide_slot[wide.arguments[2].offset / 8 + 1] == slot[81]);
}
