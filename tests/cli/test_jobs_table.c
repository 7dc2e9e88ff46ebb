#include "../support/test.h"
#include "cli/jobs_table.h"

#define NOW_S 1769860800 /* 2026-01-31T12:00:00Z */

TEST(age)
{
    static const struct {
        const char *created_at, *age;
    } rows[] = {
        {"2026-01-31T12:00:00.000Z", "0 s"},
        {"2026-01-31T11:58:01.999Z", "119 s"},
        {"2026-01-31T11:58:00.000Z", "2 min"},
        {"2026-01-31T10:00:00.000Z", "2 h"},
        {"2026-01-29T12:00:00Z", "2 d"},
        {"2026-02-01T00:00:00.000Z", "0 s"},
        {"yesterday", ""},
        {"", ""},
        {NULL, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[32];
        jobs_table_age(rows[i].created_at, NOW_S, text, sizeof text);
        assert_string_equal(text, rows[i].age);
    }
}
