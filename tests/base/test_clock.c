/* Wall-clock time as text. */
#include "../support/test.h"
#include "base/clock.h"
#include "base/json.h"

static const struct {
    int64_t ms;
    const char *text;
} rows[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {1769860800000, "2026-01-31T12:00:00.000Z"},
    {1769860800007, "2026-01-31T12:00:00.007Z"},
    {951868799999, "2000-02-29T23:59:59.999Z"},
    {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
    {-1, ""},
    {INT64_MIN, ""},
    {INT64_MAX, ""}, /* year 292278994 has more digits than the format */
};

TEST(text)
{
    char got[CLOCK_TEXT_BYTES];
    for (size_t i = 0; i < COUNT(rows); i++) {
        clock_text(rows[i].ms, got);
        assert_string_equal(got, rows[i].text);
    }
}

TEST(json)
{
    json_t *never = json_time(0), *then = json_time(1769860800007);
    assert_true(json_is_null(never));
    assert_string_equal(json_string_value(then), "2026-01-31T12:00:00.007Z");
    json_decref(never);
    json_decref(then);
}

/* The machine's clock may be set while this runs, but not by decades. */
TEST(now)
{
    assert_in_range(clock_wall_ms(), INT64_C(1700000000000), INT64_C(4000000000000));
}
