/* What a leaderboard keeps of verdicts, whatever their order. */
#include "../support/test.h"
#include "base/mem.h"
#include "server/web/verdict_table.h"

#include <jansson.h>
#include <stdio.h>

static void add(struct verdict_table *table, const char *id, int64_t ended_ms, const char *text)
{
    const struct verdict_entry entry = {.id = id,
                                        .worker = "w",
                                        .ended_ms = ended_ms,
                                        .verdict = {text, strlen(text)}};
    verdict_table_add(table, &entry);
}

static void add_passed(struct verdict_table *table, int number, const char *hash, double speedup)
{
    char id[32];
    snprintf(id, sizeof id, "job-%d", number);
    char *text = mem_printf(
        "{\"problem\":{\"id\":\"relu\"},\"candidate\":{\"language\":\"c\",\"hash\":\"%s\"},"
        "\"status\":\"passed\",\"timing\":{\"speedup\":%g,\"speedup_interval\":[%g, %g],"
        "\"meaningful\":true}}",
        hash, speedup, speedup - 0.5, speedup + 0.5);
    add(table, id, 1000 + number, text);
    mem_free(text);
}

static double speedup_at(const json_t *candidates, size_t i)
{
    return json_number_value(json_object_get(json_array_get(candidates, i), "speedup"));
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

TEST(the_fastest_first)
{
    struct verdict_table *table = verdict_table_new();
    for (int i = 0; i < 100; i++) {
        char hash[16];
        snprintf(hash, sizeof hash, "h%d", i);
        add_passed(table, i, hash, 1 + (i * 37) % 100);
    }
    json_t *problem = verdict_table_problem(table, "relu");
    const json_t *candidates = json_object_get(problem, "candidates");
    assert_int_equal(json_array_size(candidates), VERDICT_LEADERS);
    for (size_t i = 0; i < VERDICT_LEADERS; i++)
        assert_float_equal(speedup_at(candidates, i), 100 - (double)i, 0);
    const json_t *interval = json_object_get(json_array_get(candidates, 0), "interval");
    assert_float_equal(json_number_value(json_array_get(interval, 0)), 99.5, 0);
    assert_float_equal(json_number_value(json_array_get(interval, 1)), 100.5, 0);
    assert_int_equal(json_integer_value(json_object_get(problem, "evaluations")), 100);
    json_decref(problem);
    assert_null(verdict_table_problem(table, "softmax"));
    verdict_table_free(table);
}

/* Of one candidate the verdict that ended last counts, in whatever order they come. */
TEST(one_candidate_several_verdicts)
{
    for (int order = 0; order < 2; order++) {
        struct verdict_table *table = verdict_table_new();
        add_passed(table, order ? 7 : 3, "same", order ? 2 : 9);
        add_passed(table, order ? 3 : 7, "same", order ? 9 : 2);
        add_passed(table, 5, "other", 4);
        json_t *problem = verdict_table_problem(table, "relu");
        const json_t *candidates = json_object_get(problem, "candidates");
        assert_int_equal(json_array_size(candidates), 2);
        assert_float_equal(speedup_at(candidates, 0), 4, 0);
        assert_float_equal(speedup_at(candidates, 1), 2, 0);
        json_decref(problem);
        verdict_table_free(table);
    }
}

TEST(what_does_not_lead)
{
    static const char *const rows[] = {
        "",
        "nonsense",
        "[]",
        "{}",
        "{\"problem\":1}",
        "{\"problem\":{\"id\":5}}",
        "{\"problem\":{\"id\":\"\"},\"status\":\"passed\"}",
        "{\"problem\":{\"id\":\"relu\"},\"status\":\"wrong\",\"timing\":{\"speedup\":9}}",
        "{\"problem\":{\"id\":\"relu\"},\"status\":\"passed\",\"timing\":null}",
        "{\"problem\":{\"id\":\"relu\"},\"status\":\"passed\",\"timing\":{\"speedup\":null}}",
        ("{\"problem\":{\"id\":\"relu\"},\"status\":\"passed\",\"timing\":{\"speedup\":9,"
         "\"meaningful\":false}}"),
        "{\"problem\":{\"id\":\"relu\"},\"status\":\"passed\",\"timing\":{\"speedup\":-1}}",
        "{\"problem\":{\"id\":\"relu\"},\"status\":\"<b>\"}",
    };
    struct verdict_table *table = verdict_table_new();
    for (size_t i = 0; i < COUNT(rows); i++)
        add(table, "x", 1, rows[i]);
    size_t matched;
    json_t *problems = verdict_table_problems(table, NULL, 0, 10, &matched);
    assert_int_equal(matched, 1);
    const json_t *relu = json_array_get(problems, 0);
    assert_true(json_is_null(json_object_get(relu, "best")));
    assert_int_equal(json_integer_value(json_object_get(relu, "evaluations")), 6);
    assert_int_equal(json_integer_value(json_object_get(relu, "passed")), 4);
    json_decref(problems);
    verdict_table_free(table);
}

TEST(pages_of_problems)
{
    struct verdict_table *table = verdict_table_new();
    for (int i = 0; i < 50; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"problem\":{\"id\":\"level1/%d\"},\"status\":\"wrong\"}", i);
        add(table, "x", i, text);
    }
    static const struct {
        const char *search;
        size_t skip, limit, matched, count;
        const char *first;
    } rows[] = {
        {NULL, 0, 10, 50, 10, "level1/0"},
        {"", 45, 10, 50, 5, "level1/45"},
        {"LEVEL1/4", 0, 100, 11, 11, "level1/4"},
        {"x", 0, 10, 0, 0, NULL},
        {NULL, 60, 10, 50, 0, NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t matched;
        json_t *page = verdict_table_problems(table, rows[i].search, rows[i].skip, rows[i].limit,
                                              &matched);
        assert_int_equal(matched, rows[i].matched);
        assert_int_equal(json_array_size(page), rows[i].count);
        if (rows[i].first)
            assert_string_equal(text_at(json_array_get(page, 0), "problem"), rows[i].first);
        json_decref(page);
    }
    verdict_table_free(table);
}

TEST(the_last_violations)
{
    struct verdict_table *table = verdict_table_new();
    for (int i = 0; i < VERDICT_VIOLATIONS + 50; i++) {
        char id[32];
        snprintf(id, sizeof id, "job-%d", i);
        /* from the middle outwards: neither oldest nor newest first */
        int64_t when = i % 2 ? 1000 + i : 1000 - i;
        add(table, id, when,
            "{\"problem\":{\"id\":\"relu\"},\"status\":\"violation\",\"integrity\":{\"violations\":"
            "[{\"code\":\"H21\",\"evidence\":\"<b>it cheats</b>\"}]}}");
    }
    add(table, "clean", 9000, "{\"problem\":{\"id\":\"relu\"},\"integrity\":{\"violations\":[ ]}}");
    json_t *list = verdict_table_violations(table, VERDICT_VIOLATIONS + 1);
    assert_int_equal(json_array_size(list), VERDICT_VIOLATIONS);
    assert_string_equal(text_at(json_array_get(list, 0), "id"), "job-549");
    assert_string_equal(text_at(json_array_get(list, 1), "id"), "job-547");
    const json_t *findings = json_object_get(json_array_get(list, 0), "findings");
    assert_string_equal(text_at(json_array_get(findings, 0), "evidence"), "<b>it cheats</b>");
    json_decref(list);
    verdict_table_free(table);
}

TEST(clocks_of_devices)
{
    struct verdict_table *table = verdict_table_new();
    add(table, "a", 5, "{\"device\":\"cuda:0 X\",\"timing\":{\"clocks\":{\"power_w\":300}}}");
    add(table, "b", 3, "{\"device\":\"cuda:0 X\",\"timing\":{\"clocks\":{\"power_w\":200}}}");
    add(table, "c", 9, "{\"device\":\"cpu\",\"timing\":{\"clocks\":null}}");
    json_t *devices = verdict_table_devices(table);
    assert_int_equal(json_array_size(devices), 1);
    const json_t *device = json_array_get(devices, 0);
    assert_string_equal(text_at(device, "device"), "cuda:0 X");
    assert_string_equal(text_at(device, "worker"), "w");
    assert_int_equal(json_integer_value(
                         json_object_get(json_object_get(device, "clocks"), "power_w")),
                     300);
    json_decref(devices);
    verdict_table_free(table);
}
