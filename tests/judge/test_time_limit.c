/* Limits that settings give to steps, and what is said of a step that took longer. */
#include "judge/request/time_limit.h"

#include "../support/test.h"

static void set(struct settings *settings, const char *path, const char *value)
{
    struct err err = {0};
    assert_ok(settings_set(settings, path, value, ORIGIN_COMMAND_LINE, &err), &err);
}

TEST(texts)
{
    struct settings settings;
    struct err err;
    settings_init(&settings);
    set(&settings, "run.timeout_ms", "1500ms");
    set(&settings, "run.load_timeout_ms", "2m");
    const struct time_limit untold = time_limit_first_call(&settings);
    set(&settings, "run.first_call_timeout_ms", "4s");
    const struct {
        struct time_limit limit;
        int64_t ms;
        const char *says;
    } rows[] = {
        {time_limit_call(&settings), 1500, "it took longer than 1.5 s (run.timeout_ms)"},
        {untold, 9000, "it took longer than 9 s (six times run.timeout_ms)"},
        {time_limit_first_call(&settings), 4000,
         "it took longer than 4 s (run.first_call_timeout_ms)"},
        {time_limit_load(&settings), 120000, "it took longer than 120 s (run.load_timeout_ms)"},
        {time_limit_beside(time_limit_call(&settings), 3), 1512,
         "it took longer than 1.51 s (run.timeout_ms)"},
        {time_limit_beside(time_limit_call(&settings), 500), 3500,
         "it took longer than 3.5 s (run.timeout_ms, and four times what the reference took)"},
        {{.ms = 20000}, 20000, "it took longer than 20 s"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(time_limit_deadline_ns(&rows[i].limit, 7), 7 + rows[i].ms * 1000000);
        assert_int_equal(time_limit_passed(&rows[i].limit, "it", &err), ERR_TIMEOUT);
        assert_string_equal(err.text, rows[i].says);
    }
    settings_deinit(&settings);
}
